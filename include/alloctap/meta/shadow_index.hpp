/// A pointer index without search: one word of shadow memory per 16 bytes of address space.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "alloctap/guard/arena.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/meta/flat_hash_index.hpp"
#include "alloctap/meta/pointer_index.hpp"

namespace alloctap {

/// A sparse array over the 48-bit address space in three levels; a leaf covers 1 MiB with 8 bytes
/// per 16-byte granule. A record is one atomic word (stack id above, size below) beside its
/// neighbours', so insert and take are lock-free and touch memory as locally as the program does.
/// Costs up to half the heap again. Blocks that do not fit the word (4 GiB and more, odd addresses)
/// go to a `FlatHashIndex`.
///
/// A word is taken in two steps, because the allocator hands an address to one thread at a time.
/// Where a program frees a block on two threads at one moment, both may find the record. It is
/// inserted by an exchange all the same: a load first would have the system map its page of zeros,
/// and the store fault a second time, which costs a new block more than the exchange does.
class ShadowIndex {
 public:
  constexpr ShadowIndex() noexcept = default;

  ALLOCTAP_ALWAYS_INLINE InsertOutcome insert(const void* pointer,
                                              const BlockRecord& record) noexcept {
    if (!fits(pointer) || record.size >= kSizeElsewhere) [[unlikely]] {
      return insert_elsewhere(pointer, record);
    }
    Word* word = find(pointer);
    if (word == nullptr) [[unlikely]] {
      word = make(pointer);
      if (word == nullptr) return {.kept = false, .replaced = {}};
    }
    const std::uint64_t before = word->exchange(pack(record), std::memory_order_acq_rel);
    if (before != 0) [[unlikely]] {
      return {.kept = true, .replaced = unpack_taken(before, pointer)};
    }
    return {};
  }

  ALLOCTAP_ALWAYS_INLINE BlockRecord take(const void* pointer) noexcept {
    if (!fits(pointer)) [[unlikely]] {
      return take_elsewhere(pointer);
    }
    Word* word = find(pointer);
    if (word == nullptr) [[unlikely]] {
      return {};
    }
    const std::uint64_t before = word->load(std::memory_order_acquire);
    if (before == 0) [[unlikely]] {
      return {};
    }
    word->store(0, std::memory_order_release);
    return unpack_taken(before, pointer);
  }

  bool may_hold(const void* pointer) noexcept {
    if (!fits(pointer)) return true;
    const Word* word = find(pointer);
    return word != nullptr && word->load(std::memory_order_relaxed) != 0;
  }

  template <class Visit>
  void for_each(Visit&& visit) {
    for (std::size_t top = 0; top < kFanOut; ++top) {
      Middle* middle = root_[top].load(std::memory_order_acquire);
      if (middle != nullptr) visit_middle(*middle, top, visit);
    }
    others_.for_each([&](const void* pointer, const BlockRecord& record) {
      if (!fits(pointer)) visit(pointer, record);
    });
  }

 private:
  using Word = std::atomic<std::uint64_t>;

  static constexpr int kGranuleBits = 4;
  static constexpr int kLeafBits = 16;
  static constexpr int kFanOutBits = 14;
  static constexpr std::size_t kFanOut = std::size_t{1} << kFanOutBits;
  static constexpr int kAddressBits = kGranuleBits + kLeafBits + 2 * kFanOutBits;
  static constexpr std::uint64_t kSizeElsewhere = 0xFFFFFFFF;

  struct Leaf {
    std::array<Word, std::size_t{1} << kLeafBits> words;
  };
  struct Middle {
    std::array<std::atomic<Leaf*>, kFanOut> leaves;
  };

  static std::uintptr_t address_of(const void* pointer) noexcept {
    return reinterpret_cast<std::uintptr_t>(pointer);
  }

  /// Multiples of 16 below the end of the address space, in one comparison.
  static bool fits(const void* pointer) noexcept {
    return std::rotr(address_of(pointer), kGranuleBits) >> (kAddressBits - kGranuleBits) == 0;
  }

  static std::size_t top_of(std::uintptr_t address) noexcept {
    return address >> (kAddressBits - kFanOutBits);
  }
  static std::size_t middle_of(std::uintptr_t address) noexcept {
    return (address >> (kGranuleBits + kLeafBits)) % kFanOut;
  }
  static std::size_t word_of(std::uintptr_t address) noexcept {
    return (address >> kGranuleBits) % (std::size_t{1} << kLeafBits);
  }

  static std::uint64_t pack(const BlockRecord& record) noexcept {
    return std::uint64_t{record.stack} << 32 | record.size;
  }

  static BlockRecord unpack(std::uint64_t word) noexcept {
    return {.stack = static_cast<StackId>(word >> 32), .size = word & 0xFFFFFFFF};
  }

  /// What a word said that is there no more.
  BlockRecord unpack_taken(std::uint64_t word, const void* pointer) noexcept {
    const BlockRecord record = unpack(word);
    if (record.size == kSizeElsewhere) [[unlikely]] {
      return take_elsewhere(pointer);
    }
    return record;
  }

  Word* find(const void* pointer) noexcept {
    const std::uintptr_t address = address_of(pointer);
    Middle* middle = root_[top_of(address)].load(std::memory_order_acquire);
    if (middle == nullptr) return nullptr;
    Leaf* leaf = middle->leaves[middle_of(address)].load(std::memory_order_acquire);
    return leaf == nullptr ? nullptr : &leaf->words[word_of(address)];
  }

  ALLOCTAP_NOINLINE Word* make(const void* pointer) noexcept {
    const std::uintptr_t address = address_of(pointer);
    Middle* middle = get_or_make(root_[top_of(address)]);
    if (middle == nullptr) return nullptr;
    Leaf* leaf = get_or_make(middle->leaves[middle_of(address)]);
    return leaf == nullptr ? nullptr : &leaf->words[word_of(address)];
  }

  /// Both node types are larger than the arena's blocks, so they come as zeroed pages.
  template <class Node>
  static Node* get_or_make(std::atomic<Node*>& link) noexcept {
    static_assert(sizeof(Node) > Arena::kLargestBlock);
    Node* node = link.load(std::memory_order_acquire);
    if (node != nullptr) return node;
    auto* fresh = static_cast<Node*>(Arena::allocate(sizeof(Node)));
    if (fresh == nullptr || link.compare_exchange_strong(node, fresh, std::memory_order_acq_rel)) {
      return fresh;
    }
    Arena::deallocate(fresh, sizeof(Node));
    return node;
  }

  ALLOCTAP_NOINLINE BlockRecord take_elsewhere(const void* pointer) noexcept {
    return others_.take(pointer);
  }

  ALLOCTAP_NOINLINE InsertOutcome insert_elsewhere(const void* pointer,
                                                   const BlockRecord& record) noexcept {
    return fits(pointer) ? insert_large(pointer, record) : others_.insert(pointer, record);
  }

  /// The size goes beside before the word says so: a free of this very block cannot come earlier.
  InsertOutcome insert_large(const void* pointer, const BlockRecord& record) noexcept {
    const BlockRecord replaced = take(pointer);
    Word* word = make(pointer);
    if (word == nullptr || !others_.insert(pointer, record).kept) {
      return {.kept = false, .replaced = replaced};
    }
    word->store(pack({.stack = record.stack, .size = kSizeElsewhere}), std::memory_order_release);
    return {.kept = true, .replaced = replaced};
  }

  template <class Visit>
  void visit_middle(Middle& middle, std::size_t top, Visit& visit) {
    for (std::size_t i = 0; i < kFanOut; ++i) {
      Leaf* leaf = middle.leaves[i].load(std::memory_order_acquire);
      if (leaf != nullptr) visit_leaf(*leaf, top << kFanOutBits | i, visit);
    }
  }

  template <class Visit>
  void visit_leaf(Leaf& leaf, std::uintptr_t number, Visit& visit) {
    for (std::size_t i = 0; i < leaf.words.size(); ++i) {
      const std::uint64_t word = leaf.words[i].load(std::memory_order_acquire);
      if (word == 0) continue;
      const auto* pointer =
          reinterpret_cast<const void*>((number << kLeafBits | i) << kGranuleBits);
      BlockRecord record = unpack(word);
      if (record.size == kSizeElsewhere) record = others_.look(pointer);
      if (record.stack != kNoStackId) visit(pointer, record);
    }
  }

  std::array<std::atomic<Middle*>, kFanOut> root_{};
  FlatHashIndex others_;
};

static_assert(PointerIndex<ShadowIndex>);

}  // namespace alloctap
