/// A pointer index without search: shadow memory beside the heap.
#pragma once

#include <atomic>
#include <cstdint>

#include "alloctap/guard/shadow_memory.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/meta/flat_hash_index.hpp"
#include "alloctap/meta/pointer_index.hpp"
#include "alloctap/meta/shadow_record.hpp"

namespace alloctap {

/// Keeps a record in the words of `ShadowMemory` at which its block begins (`ShadowRecord`): no
/// lock, no probing, and memory is touched as locally as the program touches its own. Costs up to a
/// quarter of the heap again. What does not fit goes to a `FlatHashIndex`: odd addresses, blocks of
/// 1 GiB and more, those in the last 16 bytes of 4 KiB, and those that overlap others, as a pool's
/// and the block that it cuts them from may.
///
/// A word is taken in two steps, because the allocator hands an address to one thread at a time.
/// Where a program frees a block on two threads at one moment, both may find the record. Two blocks
/// that begin within 16 bytes of each other, in the same 4 KiB, share a word where they overlap:
/// those are to come and go on one thread at a time, too, as the events of one region do in a
/// queue.
class ShadowIndex {
 public:
  constexpr ShadowIndex() noexcept = default;

  ALLOCTAP_ALWAYS_INLINE InsertOutcome insert(const void* pointer,
                                              const BlockRecord& record) noexcept {
    if (!ShadowMemory::covers(pointer)) [[unlikely]] {
      return others_.insert(pointer, record);
    }
    return insert_at(memory_.find_made(pointer), pointer, record);
  }

  /// Where `try_insert` will write; nullptr where that is not known yet.
  using Expected = ShadowMemory::Word*;

  /// Begins to fetch what `try_insert` will write at `pointer`, while the caller has other things
  /// to do. The result is for that call alone.
  ALLOCTAP_ALWAYS_INLINE Expected expect(const void* pointer) noexcept {
    if (!ShadowMemory::covers(pointer)) [[unlikely]] {
      return nullptr;
    }
    Word* const word = memory_.find_made(pointer);
    ALLOCTAP_PREFETCH_FOR_WRITING(word);
    return word;
  }

  /// Inserts where all is as it mostly is. Else nothing has changed, and it is false: `insert` it.
  ALLOCTAP_ALWAYS_INLINE bool try_insert(const void* pointer, const BlockRecord& record,
                                         Expected expected) noexcept {
    return expected != nullptr && insert_in_free(expected, pointer, record);
  }

  ALLOCTAP_ALWAYS_INLINE BlockRecord take(const void* pointer) noexcept {
    if (!ShadowMemory::covers(pointer)) [[unlikely]] {
      return take_elsewhere(pointer);
    }
    Word* const word = memory_.find(pointer);
    return word == nullptr ? BlockRecord{} : take(pointer, word);
  }

  template <class Visit>
  void for_each(Visit&& visit) {
    memory_.for_each(
        [&](const void* pointer, Word& word) {
          const BlockRecord record = look(pointer, &word);
          if (record.stack != kNoStackId) visit(pointer, record);
        },
        ShadowRecord::kBeginBits);
    others_.for_each([&](const void* pointer, const BlockRecord& record) {
      if (!ShadowMemory::covers(pointer)) visit(pointer, record);
    });
  }

 private:
  using Word = ShadowMemory::Word;

  static std::uint32_t get(const Word& word) noexcept {
    return word.load(std::memory_order_acquire);
  }

  /// Whoever sees the first word sees the second.
  ALLOCTAP_ALWAYS_INLINE static void write(Word* word, const ShadowRecord::Words& words) noexcept {
    if (words.size != 0) word[1].store(words.size, std::memory_order_relaxed);
    word[0].store(words.head, std::memory_order_release);
  }

  /// `word` is the one of `pointer`; nullptr where it is still to be made.
  ALLOCTAP_ALWAYS_INLINE InsertOutcome insert_at(Word* word, const void* pointer,
                                                 const BlockRecord& record) noexcept {
    if (word == nullptr) [[unlikely]] {
      word = memory_.make(pointer);
      if (word == nullptr) return {.kept = false, .replaced = {}};
    }
    if (insert_in_free(word, pointer, record)) [[likely]] {
      return {};
    }
    return insert_with_care(pointer, word, record);
  }

  /// False where something is in the way, or the record does not fit.
  ALLOCTAP_ALWAYS_INLINE static bool insert_in_free(Word* word, const void* pointer,
                                                    const BlockRecord& record) noexcept {
    const ShadowRecord::Words words = ShadowRecord::encode(record);
    const bool is_free =
        get(word[0]) == 0 &&
        (words.size == 0 || (ShadowMemory::has_neighbour(pointer) && get(word[1]) == 0));
    if (!is_free || words.head == ShadowRecord::kElsewhere) [[unlikely]] {
      return false;
    }
    write(word, words);
    return true;
  }

  ALLOCTAP_ALWAYS_INLINE BlockRecord take(const void* pointer, Word* word) noexcept {
    const std::uint32_t head = get(word[0]);
    if (!ShadowRecord::begins_block(head)) [[unlikely]] {
      return {};
    }
    word[0].store(0, std::memory_order_release);
    if (!ShadowRecord::size_follows(head)) {
      return head == ShadowRecord::kElsewhere ? take_elsewhere(pointer)
                                              : ShadowRecord::decode({.head = head});
    }
    const std::uint32_t size = get(word[1]);
    word[1].store(0, std::memory_order_release);
    return ShadowRecord::decode({.head = head, .size = size});
  }

  /// What is known of the block that begins at `pointer`; its `stack` is `kNoStackId` where none
  /// does, or where it goes at this moment.
  BlockRecord look(const void* pointer, const Word* word) noexcept {
    const std::uint32_t head = get(word[0]);
    if (!ShadowRecord::begins_block(head)) return {};
    if (head == ShadowRecord::kElsewhere) return others_.look(pointer);
    if (!ShadowRecord::size_follows(head)) return ShadowRecord::decode({.head = head});
    const std::uint32_t size = get(word[1]);
    return ShadowRecord::is_size(size) ? ShadowRecord::decode({.head = head, .size = size})
                                       : BlockRecord{};
  }

  ALLOCTAP_NOINLINE BlockRecord take_elsewhere(const void* pointer) noexcept {
    return others_.take(pointer);
  }

  /// Where `insert_in_free` does not.
  ALLOCTAP_NOINLINE InsertOutcome insert_with_care(const void* pointer, Word* word,
                                                   const BlockRecord& record) noexcept {
    const BlockRecord replaced = take(pointer, word);
    if (ShadowRecord::is_size(get(word[0])) && !move_elsewhere(pointer, word)) {
      return {.kept = false, .replaced = replaced};
    }
    ShadowRecord::Words words = ShadowRecord::encode(record);
    const bool has_room =
        words.size == 0 || (ShadowMemory::has_neighbour(pointer) && get(word[1]) == 0);
    if (!has_room) words = {.head = ShadowRecord::kElsewhere};
    if (words.head == ShadowRecord::kElsewhere && !others_.insert(pointer, record).kept) {
      return {.kept = false, .replaced = replaced};
    }
    write(word, words);
    return {.kept = true, .replaced = replaced};
  }

  /// The block that begins before `pointer` gives back the word that says its size.
  bool move_elsewhere(const void* pointer, Word* size) noexcept {
    Word* const head = size - 1;
    const void* const begin = static_cast<const std::byte*>(pointer) - kGranule;
    const BlockRecord record = ShadowRecord::decode({.head = get(*head), .size = get(*size)});
    if (!others_.insert(begin, record).kept) return false;
    write(head, {.head = ShadowRecord::kElsewhere});
    size->store(0, std::memory_order_release);
    return true;
  }

  static constexpr std::size_t kGranule = 16;

  ShadowMemory memory_;
  FlatHashIndex others_;
};

static_assert(PointerIndex<ShadowIndex>);

}  // namespace alloctap
