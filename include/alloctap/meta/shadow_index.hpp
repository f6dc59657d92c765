/// A pointer index in shadow memory, without locks and searches.
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

/// The encoding of block records in shadow words. A record is in the word of the granule (16 or 32
/// bytes) in which its block begins. If the block is so long that no other block can begin in the
/// next granule, the next word has the size. Otherwise one word has stack id and size. A record
/// that fits neither form is stored in another index ("elsewhere"). The two upper bits of a word
/// mean:
///
///     00  no block begins here; a nonzero word is the size of the block of the previous word
///     01  odd bit, 29 bits of stack id; the next word is the size
///     10  odd bit, 6 bits of size, 23 bits of stack id
///     11  odd bit; the record is stored elsewhere
///
/// The odd bit is 1 if the block begins in the upper half of a 32-byte granule.
class ShadowRecord {
 public:
  /// The two words of a record; `size` is 0 if one word is enough.
  struct Words {
    std::uint32_t head = 0;
    std::uint32_t size = 0;
  };

  static constexpr std::uint32_t kElsewhere = std::uint32_t{3} << 30;
  static constexpr std::uint32_t kOdd = std::uint32_t{1} << 29;
  /// Nonzero in each word of a granule in which a block begins; 0 in all other words.
  static constexpr std::uint32_t kBeginBits = std::uint32_t{3} << 30;

  /// The largest size that fits in a single-word record.
  static constexpr std::uint64_t kMaxAlone = 63;

  /// Encodes a block with the odd bit 0, in one word if its size is at most `largest_alone` (at
  /// most `kMaxAlone`). Returns `kElsewhere` if the record fits neither form.
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

  /// Decodes a record from its shadow words. Precondition: a block begins at `words.head`, and
  /// `is_elsewhere(words.head)` is false.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE static constexpr BlockRecord decode(
      const Words& words) noexcept {
    if (size_follows(words.head)) {
      return {.stack = words.head & (kStackEnd - 1), .size = words.size & (kSizeEnd - 1)};
    }
    return {.stack = words.head & (kSmallStackEnd - 1),
            .size = words.head >> kSmallSizeShift & kMaxAlone};
  }

  /// Returns whether a word's granule has the start of a block.
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
  /// Returns whether a word is the size of the block of the previous word.
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

/// Stores each record in the shadow words of its block (`ShadowRecord`); one word per `kSpacing`
/// bytes, 16 or 32. Runs inside malloc. Needs no lock and no probing; cache locality follows that
/// of the program. Costs up to 4 / `kSpacing` of the heap's size.
///
/// A `FlatHashIndex` has the records that do not fit in shadow words: of blocks whose address is no
/// multiple of 16, whose size is 1 GiB or more, or whose stack id is too large; two-word records in
/// the last `kSpacing` bytes of a 4 KiB page; and those of overlapping blocks, such as the first
/// block of a pool and the block that encloses the pool.
///
/// Removal is a load and a store, not an atomic exchange, because an address belongs to one thread
/// at a time. If a program frees a block on two threads at once, both may get the record.
///
/// Two blocks of one page that begin within `kSpacing` bytes may share a word (with 16, only if
/// they overlap). Events of such blocks must not be concurrent; queues ensure that for each 4 KiB
/// region. Use 32 only for allocators whose blocks begin at least 32 bytes apart.
template <std::uintptr_t kSpacing>
class BasicShadowIndex {
  static_assert(kSpacing == 16 || kSpacing == 32);
  using Memory = BasicShadowMemory<std::countr_zero(kSpacing)>;

 public:
  static constexpr IndexFeatures features{.leaves_errno_alone = true, .expect = true};

  constexpr BasicShadowIndex() noexcept = default;

  ALLOCTAP_ALWAYS_INLINE InsertOutcome insert(const void* pointer,
                                              const BlockRecord& record) noexcept {
    if (!Memory::covers(pointer)) [[unlikely]] {
      return others_.insert(pointer, record);
    }
    return insert_at(memory_.find_made(pointer), pointer, record);
  }

  /// The word that `try_insert` will write; nullptr if `insert` must be used instead.
  using Expected = typename Memory::Word*;

  /// Prefetches the word of `pointer` while the caller does other work. Pass the result to the next
  /// `try_insert` only.
  ALLOCTAP_ALWAYS_INLINE Expected expect(const void* pointer) noexcept {
    if (!Memory::covers(pointer) || crowded()) [[unlikely]] {
      return nullptr;
    }
    Word* const word = memory_.find_made(pointer);
    ALLOCTAP_PREFETCH_FOR_WRITING(word);
    return word;
  }

  /// Fast path: stores the record if its shadow words are free. Otherwise returns false without
  /// side effects; the caller must use `insert`.
  ALLOCTAP_ALWAYS_INLINE bool try_insert(const void* pointer, const BlockRecord& record,
                                         Expected expected) noexcept {
    return expected != nullptr && insert_in_free(expected, pointer, record);
  }

  ALLOCTAP_ALWAYS_INLINE BlockRecord take(const void* pointer) noexcept {
    return take_or(pointer, [&] { return take_unusual(pointer); });
  }

  /// Like `take`, but if no word describes the block, returns `otherwise()`.
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
          // Loads the word once, because blocks may change during the visit.
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

  /// The largest size encoded in one word. If a block is larger, no other block can begin in the
  /// next granule, even if the larger block begins at the start of its granule.
  static constexpr std::uint64_t kLargestAlone = 2 * kSpacing - 16;
  static_assert(kLargestAlone <= ShadowRecord::kMaxAlone);

  /// Returns `ShadowRecord::kOdd` if `pointer` is in the upper half of its granule; otherwise 0.
  static std::uint32_t odd_bit(const void* pointer) noexcept {
    if constexpr (kSpacing == 16) return 0;
    constexpr int kShift = std::countr_zero(ShadowRecord::kOdd) - 4;
    return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(pointer) << kShift) &
           ShadowRecord::kOdd;
  }

  /// Returns whether `head`, the word of the granule of `pointer`, describes a block at `pointer`.
  static bool is_of(std::uint32_t head, const void* pointer) noexcept {
    return ShadowRecord::begins_block(head) &&
           (kSpacing == 16 || (head & ShadowRecord::kOdd) == odd_bit(pointer));
  }

  /// Returns the address of the block that `head` describes; the block's granule begins at `first`.
  static const void* begin_of(const void* first, std::uint32_t head) noexcept {
    // Integer arithmetic, because `first` may be null.
    const std::uintptr_t bytes = kSpacing > 16 && ShadowRecord::is_odd(head) ? 16 : 0;
    return reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(first) + bytes);
  }

  /// Returns whether the word of `pointer` refers to `others_`, so that `for_each` has visited the
  /// block already.
  bool is_visited_elsewhere(const void* pointer) noexcept {
    const Word* const word = Memory::covers(pointer) ? memory_.find(pointer) : nullptr;
    const std::uint32_t head = word == nullptr ? 0 : get(*word);
    return is_of(head, pointer) && ShadowRecord::is_elsewhere(head);
  }

  static std::uint32_t get(const Word& word) noexcept {
    return word.load(std::memory_order_acquire);
  }

  /// Writes the size first, so that a thread that reads the first word also sees the size.
  ALLOCTAP_ALWAYS_INLINE static void write(Word* word, const ShadowRecord::Words& words) noexcept {
    if (words.size != 0) word[1].store(words.size, std::memory_order_relaxed);
    word[0].store(words.head, std::memory_order_release);
  }

  /// Stores a record in `word`, the word of `pointer`; `word` is nullptr if it must be created.
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

  /// Stores a record in `word`. Returns false if the record does not fit or words are in use.
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

  /// Removes a record. Precondition: `word`, with value `head`, describes the block at `pointer`.
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

  /// Returns the record of the block at `pointer`, whose word had the value `head`. Its `stack` is
  /// `kNoStackId` if no block begins there, or if the block is being removed.
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

  /// Returns whether a block was ever inserted while another block used its word. If so, any block
  /// may be in `others_`, even a block whose word is free.
  [[nodiscard]] bool crowded() const noexcept {
    return kSpacing > 16 && crowded_.load(std::memory_order_acquire);
  }

  /// Slow path, after `insert_in_free` has failed.
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

  /// Moves the record of the block before `pointer` to `others_`. The word `size`, which had the
  /// size of that block, becomes free for the block at `pointer`.
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

/// The index for blocks at arbitrary multiples of 16.
using ShadowIndex = BasicShadowIndex<16>;

static_assert(PointerIndex<ShadowIndex>);

/// A `BasicShadowIndex<32>` if `set_min_block_spacing` announced at least 32 bytes between block
/// addresses (as in glibc); otherwise a `ShadowIndex`, whose functions are not inlined. Spacing 32
/// halves the memory and improves cache locality. Thread-safe, runs inside malloc.
class SpacedShadowIndex {
  using Wide = BasicShadowIndex<32>;

 public:
  static constexpr IndexFeatures features{
      .leaves_errno_alone = true, .expect = true, .set_min_block_spacing = true};

  constexpr SpacedShadowIndex() noexcept = default;

  /// Announces that blocks begin at multiples of 16, at least `bytes` apart. Only the first call
  /// has an effect, because stored records do not move. Must precede the first `insert`; no other
  /// call may run concurrently.
  void set_min_block_spacing(std::size_t bytes) noexcept {
    if (!decided_) is_wide_.store(bytes >= 32, std::memory_order_relaxed);
    decided_ = true;
  }

  ALLOCTAP_ALWAYS_INLINE InsertOutcome insert(const void* pointer,
                                              const BlockRecord& record) noexcept {
    if (is_wide()) [[likely]] {
      return wide_.insert(pointer, record);
    }
    return insert_narrow(pointer, record);
  }

  /// `Expected`, `expect` and `try_insert` always access `wide_`, even if the blocks are in
  /// `narrow_`. `wide_` then has no words, so `try_insert` always fails.
  using Expected = Wide::Expected;

  ALLOCTAP_ALWAYS_INLINE Expected expect(const void* pointer) noexcept {
    return wide_.expect(pointer);
  }

  ALLOCTAP_ALWAYS_INLINE bool try_insert(const void* pointer, const BlockRecord& record,
                                         Expected expected) noexcept {
    return wide_.try_insert(pointer, record, expected);
  }

  ALLOCTAP_ALWAYS_INLINE BlockRecord take(const void* pointer) noexcept {
    return wide_.take_or(pointer, [&] { return take_otherwise(pointer); });
  }

  template <class Visit>
  void for_each(Visit&& visit) {
    if (is_wide()) return wide_.for_each(visit);
    narrow_.for_each(visit);
  }

 private:
  [[nodiscard]] bool is_wide() const noexcept { return is_wide_.load(std::memory_order_relaxed); }

  ALLOCTAP_NOINLINE InsertOutcome insert_narrow(const void* pointer, BlockRecord record) noexcept {
    return narrow_.insert(pointer, record);
  }

  ALLOCTAP_NOINLINE BlockRecord take_otherwise(const void* pointer) noexcept {
    return is_wide() ? wide_.take_unusual(pointer) : narrow_.take(pointer);
  }

  Wide wide_;
  ShadowIndex narrow_;
  std::atomic<bool> is_wide_{false};
  bool decided_ = false;
};

static_assert(PointerIndex<SpacedShadowIndex>);

}  // namespace alloctap
