/// A pointer index without search: shadow memory beside the heap.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/meta/flat_hash_index.hpp"
#include "alloctap/meta/pointer_index.hpp"
#include "alloctap/runtime/shadow_memory.hpp"

namespace alloctap {

/// The word of the bytes in which a block begins: of 16, or of 32. A block that covers the bytes of
/// the next word owns that too, because no other can begin there; that word is its size. One that
/// is smaller has its size in its only word. Where a record fits neither way, its word says that it
/// is elsewhere. The two upper bits:
///
///     00  no block begins here; not 0: the size of the block that begins in the word below
///     01  odd, 29 bits of stack id; the next word is the size
///     10  odd, 6 bits of size, 23 bits of stack id
///     11  odd; it is elsewhere
///
/// "Odd" is one bit: whether the block begins in the upper half of 32 bytes.
class ShadowRecord {
 public:
  /// The two words of `record`; the second is 0 where it takes one alone.
  struct Words {
    std::uint32_t head = 0;
    std::uint32_t size = 0;
  };

  static constexpr std::uint32_t kElsewhere = std::uint32_t{3} << 30;
  static constexpr std::uint32_t kOdd = std::uint32_t{1} << 29;
  /// One of them is set in every word at which a block begins, and in no other.
  static constexpr std::uint32_t kBeginBits = std::uint32_t{3} << 30;

  /// The sizes that a word of its own can say.
  static constexpr std::uint64_t kMaxAlone = 63;

  /// Of a block that is not odd, alone in its word if it has up to `largest_alone` bytes, at most
  /// `kMaxAlone`. `kElsewhere` where it does not fit.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE static constexpr Words encode(
      const BlockRecord& record, std::uint64_t largest_alone) noexcept {
    if (record.size > largest_alone) {
      const bool fits = record.size < kSizeEnd && record.stack < kStackEnd;
      if (!fits) [[unlikely]] {
        return {.head = kElsewhere};
      }
      return {.head = kSizeFollows | record.stack, .size = static_cast<std::uint32_t>(record.size)};
    }
    if (record.stack >= kSmallStackEnd) [[unlikely]] {
      return {.head = kElsewhere};
    }
    return {.head =
                kAlone | static_cast<std::uint32_t>(record.size) << kSmallSizeShift | record.stack};
  }

  /// The record that the two words say; of one that is not elsewhere.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE static constexpr BlockRecord decode(
      const Words& words) noexcept {
    if (size_follows(words.head)) {
      return {.stack = words.head & (kStackEnd - 1), .size = words.size & (kSizeEnd - 1)};
    }
    return {.stack = words.head & (kSmallStackEnd - 1),
            .size = words.head >> kSmallSizeShift & kMaxAlone};
  }

  /// Whether a block begins at a word that says this.
  [[nodiscard]] static constexpr bool begins_block(std::uint32_t word) noexcept {
    return word >= kSizeFollows;
  }
  [[nodiscard]] static constexpr bool is_elsewhere(std::uint32_t word) noexcept {
    return word >= kElsewhere;
  }
  [[nodiscard]] static constexpr bool is_odd(std::uint32_t word) noexcept {
    return (word & kOdd) != 0;
  }
  [[nodiscard]] static constexpr bool size_follows(std::uint32_t word) noexcept {
    return word >> 30 == 1;
  }
  /// Whether it is the size of a block that begins at the word before.
  [[nodiscard]] static constexpr bool is_size(std::uint32_t word) noexcept {
    return word != 0 && word < kSizeFollows;
  }

 private:
  static constexpr std::uint32_t kSizeFollows = 1U << 30;
  static constexpr std::uint32_t kAlone = 1U << 31;
  static constexpr std::uint32_t kSizeEnd = 1U << 30;
  static constexpr std::uint32_t kStackEnd = kOdd;
  static constexpr std::uint32_t kSmallStackEnd = 1U << 23;
  static constexpr int kSmallSizeShift = 23;
};

/// Keeps a record in the words of shadow memory at which its block begins (`ShadowRecord`), one for
/// each `kSpacing` bytes, 16 or 32: no lock, no probing, and memory is touched as locally as the
/// program touches its own. Costs up to 4 / `kSpacing` of the heap again. What does not fit goes to
/// a `FlatHashIndex`: addresses that are no multiples of 16, blocks of 1 GiB and more, those in the
/// last `kSpacing` bytes of 4 KiB, and those that overlap others, as a pool's and the block that it
/// cuts them from may.
///
/// A word is taken in two steps, because the allocator hands an address to one thread at a time.
/// Where a program frees a block on two threads at one moment, both may find the record. Two blocks
/// that begin within `kSpacing` bytes of each other, in the same 4 KiB, share a word, of 16 where
/// they overlap: those are to come and go on one thread at a time, too, as the events of one region
/// do in a queue. So a spacing of 32 is for allocators whose blocks never begin closer together.
template <std::uintptr_t kSpacing>
class BasicShadowIndex {
  static_assert(kSpacing == 16 || kSpacing == 32);
  using Memory = BasicShadowMemory<std::countr_zero(kSpacing)>;

 public:
  static constexpr bool leaves_errno_alone = true;

  constexpr BasicShadowIndex() noexcept = default;

  ALLOCTAP_ALWAYS_INLINE InsertOutcome insert(const void* pointer,
                                              const BlockRecord& record) noexcept {
    if (!Memory::covers(pointer)) [[unlikely]] {
      return others_.insert(pointer, record);
    }
    return insert_at(memory_.find_made(pointer), pointer, record);
  }

  /// Where `try_insert` will write; nullptr where that is not known yet.
  using Expected = typename Memory::Word*;

  /// Begins to fetch what `try_insert` will write at `pointer`, while the caller has other things
  /// to do. The result is for that call alone.
  ALLOCTAP_ALWAYS_INLINE Expected expect(const void* pointer) noexcept {
    if (!Memory::covers(pointer) || crowded()) [[unlikely]] {
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
    return take_or(pointer, [&] { return take_unusual(pointer); });
  }

  /// The same, for who has a better answer than `take_unusual` where no word is the block's.
  template <class Otherwise>
  ALLOCTAP_ALWAYS_INLINE BlockRecord take_or(const void* pointer, Otherwise&& otherwise) noexcept {
    if (!Memory::covers(pointer)) [[unlikely]] {
      return otherwise();
    }
    Word* const word = memory_.find(pointer);
    if (word == nullptr) [[unlikely]] {
      return otherwise();
    }
    const std::uint32_t head = get(*word);
    if (!is_of(head, pointer)) [[unlikely]] {
      return otherwise();
    }
    return take(pointer, word, head);
  }

  ALLOCTAP_NOINLINE BlockRecord take_unusual(const void* pointer) noexcept {
    return !Memory::covers(pointer) || crowded() ? others_.take(pointer) : BlockRecord{};
  }

  template <class Visit>
  void for_each(Visit&& visit) {
    memory_.for_each(
        [&](const void* first, Word& word) {
          // Once: blocks may come and go meanwhile, and the next may begin in the other half.
          const std::uint32_t head = get(word);
          const void* const pointer = begin_of(first, head);
          const BlockRecord record = look(pointer, &word, head);
          if (record.stack != kNoStackId) visit(pointer, record);
        },
        ShadowRecord::kBeginBits);
    others_.for_each([&](const void* pointer, const BlockRecord& record) {
      if (!is_visited_elsewhere(pointer)) visit(pointer, record);
    });
  }

 private:
  using Word = typename Memory::Word;

  /// So many bytes and one more reach beyond the bytes of the next word, wherever in its own word's
  /// a block begins.
  static constexpr std::uint64_t kLargestAlone = 2 * kSpacing - 16;
  static_assert(kLargestAlone <= ShadowRecord::kMaxAlone);

  /// `ShadowRecord::kOdd` where `pointer` is in the upper half of its word's bytes.
  static std::uint32_t odd_bit(const void* pointer) noexcept {
    if constexpr (kSpacing == 16) return 0;
    constexpr int kShift = std::countr_zero(ShadowRecord::kOdd) - 4;
    return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(pointer) << kShift) &
           ShadowRecord::kOdd;
  }

  /// Whether a word that says `head` is of a block that begins at `pointer`, among its bytes.
  static bool is_of(std::uint32_t head, const void* pointer) noexcept {
    return ShadowRecord::begins_block(head) &&
           (kSpacing == 16 || (head & ShadowRecord::kOdd) == odd_bit(pointer));
  }

  /// Where the block begins whose word says `head` and stands for the bytes from `first` on.
  static const void* begin_of(const void* first, std::uint32_t head) noexcept {
    // Whole numbers: the first address of all is null.
    const std::uintptr_t bytes = kSpacing > 16 && ShadowRecord::is_odd(head) ? 16 : 0;
    return reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(first) + bytes);
  }

  /// Whether a word says of the block at `pointer` that it is elsewhere.
  bool is_visited_elsewhere(const void* pointer) noexcept {
    const Word* const word = Memory::covers(pointer) ? memory_.find(pointer) : nullptr;
    const std::uint32_t head = word == nullptr ? 0 : get(*word);
    return is_of(head, pointer) && ShadowRecord::is_elsewhere(head);
  }

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
    if (!crowded() && insert_in_free(word, pointer, record)) [[likely]] {
      return {};
    }
    return insert_slow(pointer, word, record);
  }

  /// False where something is in the way, or the record does not fit.
  ALLOCTAP_ALWAYS_INLINE static bool insert_in_free(Word* word, const void* pointer,
                                                    const BlockRecord& record) noexcept {
    ShadowRecord::Words words = ShadowRecord::encode(record, kLargestAlone);
    if (!has_room(word, pointer, words) || words.head == ShadowRecord::kElsewhere) [[unlikely]] {
      return false;
    }
    words.head |= odd_bit(pointer);
    write(word, words);
    return true;
  }

  ALLOCTAP_ALWAYS_INLINE static bool has_room(const Word* word, const void* pointer,
                                              const ShadowRecord::Words& words) noexcept {
    return get(word[0]) == 0 &&
           (words.size == 0 || (Memory::has_neighbour(pointer) && get(word[1]) == 0));
  }

  /// `word`, which says `head`, is of the block at `pointer`.
  ALLOCTAP_ALWAYS_INLINE BlockRecord take(const void* pointer, Word* word,
                                          std::uint32_t head) noexcept {
    word[0].store(0, std::memory_order_release);
    if (!ShadowRecord::size_follows(head)) {
      return ShadowRecord::is_elsewhere(head) ? take_elsewhere(pointer)
                                              : ShadowRecord::decode({.head = head});
    }
    const std::uint32_t size = get(word[1]);
    word[1].store(0, std::memory_order_release);
    return ShadowRecord::decode({.head = head, .size = size});
  }

  /// What is known of the block that begins at `pointer`, whose word said `head`; its `stack` is
  /// `kNoStackId` where none does, or where it goes at this moment.
  BlockRecord look(const void* pointer, const Word* word, std::uint32_t head) noexcept {
    if (!ShadowRecord::begins_block(head)) return {};
    if (ShadowRecord::is_elsewhere(head)) return others_.look(pointer);
    if (!ShadowRecord::size_follows(head)) return ShadowRecord::decode({.head = head});
    const std::uint32_t size = get(word[1]);
    return ShadowRecord::is_size(size) ? ShadowRecord::decode({.head = head, .size = size})
                                       : BlockRecord{};
  }

  ALLOCTAP_NOINLINE BlockRecord take_elsewhere(const void* pointer) noexcept {
    return others_.take(pointer);
  }

  /// Whether a block ever found its word taken by another one's beginning. Then a free word does
  /// not mean that nothing is known of the blocks that it stands for.
  [[nodiscard]] bool crowded() const noexcept {
    return kSpacing > 16 && crowded_.load(std::memory_order_acquire);
  }

  /// Where `insert_in_free` does not.
  ALLOCTAP_NOINLINE InsertOutcome insert_slow(const void* pointer, Word* word,
                                              const BlockRecord& record) noexcept {
    const BlockRecord replaced = take(pointer);
    if (ShadowRecord::begins_block(get(word[0]))) {
      crowded_.store(true, std::memory_order_release);
      return {.kept = others_.insert(pointer, record).kept, .replaced = replaced};
    }
    if (ShadowRecord::is_size(get(word[0])) && !move_elsewhere(pointer, word)) {
      return {.kept = false, .replaced = replaced};
    }
    ShadowRecord::Words words = ShadowRecord::encode(record, kLargestAlone);
    if (!has_room(word, pointer, words)) words = {.head = ShadowRecord::kElsewhere};
    if (words.head == ShadowRecord::kElsewhere && !others_.insert(pointer, record).kept) {
      return {.kept = false, .replaced = replaced};
    }
    words.head |= odd_bit(pointer);
    write(word, words);
    return {.kept = true, .replaced = replaced};
  }

  /// The block that begins in the word before that of `pointer` gives back the word that says its
  /// size.
  bool move_elsewhere(const void* pointer, Word* size) noexcept {
    Word* const head = size - 1;
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    const std::uintptr_t first = address - address % kSpacing - kSpacing;
    const void* const begin = begin_of(reinterpret_cast<const void*>(first), get(*head));
    const BlockRecord record = ShadowRecord::decode({.head = get(*head), .size = get(*size)});
    if (!others_.insert(begin, record).kept) return false;
    write(head, {.head = ShadowRecord::kElsewhere | (get(*head) & ShadowRecord::kOdd)});
    size->store(0, std::memory_order_release);
    return true;
  }

  Memory memory_;
  FlatHashIndex others_;
  std::atomic<bool> crowded_{false};
};

/// For blocks at any multiples of 16.
using ShadowIndex = BasicShadowIndex<16>;

static_assert(PointerIndex<ShadowIndex>);

}  // namespace alloctap
