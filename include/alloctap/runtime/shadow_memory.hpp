/// Shadow memory (a 32-bit word per granule of address space), and visits of touched pages.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "alloctap/macros.hpp"
#include "alloctap/os/memory_map.hpp"
#include "alloctap/os/thread.hpp"
#include "alloctap/os/thread_local.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/runtime/static_objects.hpp"

namespace alloctap {

/// A sparse three-level array (radix tree) over the 48-bit address space. It has a word for each
/// granule of 2^`kGranuleBits` bytes. A leaf has 2 MiB of words, which describe 8 MiB or more of
/// heap. Leaves are allocated as zeroed pages on first use.
///
/// If at least half of the next lower leaf is in use, the heap probably grows and will fill the new
/// leaf. The new leaf is then one huge page, which also saves TLB misses when old blocks are freed.
/// Otherwise the leaf has small pages, prefaulted in 64 KiB steps if the heap grows upwards.
///
/// Middle nodes record which parts of their leaves are prepared for writing. Iteration skips
/// unprepared parts. Writers never read an unprepared part: the read would map the zero page, and
/// the write would fault again.
///
/// Thread-safe; runs inside malloc. Constant-initialized, never destroyed.
template <int kGranuleBits>
class BasicShadowMemory {
 public:
  using Word = std::atomic<std::uint32_t>;
  /// The size in bytes of an address range whose events a queue keeps in order (`has_neighbour`).
  static constexpr std::uintptr_t kRegion = 4096;

  constexpr BasicShadowMemory() noexcept = default;

  /// Returns whether `pointer` is a multiple of 16 below 2^48, and so has a word. One comparison.
  static bool covers(const void* pointer) noexcept {
    return std::rotr(address_of(pointer), kAlignmentBits) >> (kAddressBits - kAlignmentBits) == 0;
  }

  /// Returns whether the next granule is in the same 4 KiB region. A queue delivers the events of a
  /// region one at a time, so no two threads change the words of both granules at once.
  static bool has_neighbour(const void* pointer) noexcept {
    return address_of(pointer) % kRegion < kRegion - (std::uintptr_t{1} << kGranuleBits);
  }

  /// Returns the word of `pointer`, for reading; nullptr if its leaf does not exist. A word that
  /// was never written is 0. Precondition: `covers(pointer)`.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE Word* find(const void* pointer) noexcept {
    const std::uintptr_t address = address_of(pointer);
    Middle* const middle = root_[top_of(address)].load(std::memory_order_acquire);
    if (middle == nullptr) [[unlikely]] {
      return nullptr;
    }
    Leaf* const leaf = middle->leaves[middle_of(address)].load(std::memory_order_acquire);
    return leaf != nullptr ? &leaf->words[word_of(address)] : nullptr;
  }

  /// Returns the word of `pointer`, for writing; nullptr until `make` has prepared the leaf's part.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE Word* find_made(const void* pointer) noexcept {
    const std::uintptr_t address = address_of(pointer);
    Middle* const middle = root_[top_of(address)].load(std::memory_order_acquire);
    if (middle == nullptr) [[unlikely]] {
      return nullptr;
    }
    if (middle->made[part_of(address)].load(std::memory_order_acquire) == 0) [[unlikely]] {
      return nullptr;
    }
    Leaf* const leaf = middle->leaves[middle_of(address)].load(std::memory_order_relaxed);
    return &leaf->words[word_of(address)];
  }

  /// Returns the word of `pointer`, for writing, created if needed; nullptr if out of memory.
  [[nodiscard]] ALLOCTAP_NOINLINE Word* make(const void* pointer) noexcept {
    const std::uintptr_t address = address_of(pointer);
    Middle* const middle = middle_at(root_[top_of(address)]);
    if (middle == nullptr) return nullptr;
    const std::size_t number = middle_of(address);
    Leaf* const leaf = leaf_at(*middle, number);
    if (leaf == nullptr) return nullptr;
    if (!middle->is_made(part_of(address))) {
      bring_in(*middle, *leaf, address);
      middle->made[part_of(address)].store(1, std::memory_order_release);
      set_bit(middle->used, number);
    }
    return &leaf->words[word_of(address)];
  }

  /// Calls `visit(pointer, Word&)` by ascending address for each word with at least one of `bits`
  /// set (by default: each nonzero word). `pointer` is the first address of the word's granule.
  template <class Visit>
  void for_each(Visit&& visit, std::uint32_t bits = ~std::uint32_t{0}) {
    for (std::size_t top = 0; top < root_.size(); ++top) {
      Middle* middle = root_[top].load(std::memory_order_acquire);
      if (middle == nullptr) continue;
      for_each_bit(middle->used, [&](std::size_t i) {
        visit_leaf(*middle, i, (top << kMiddleBits) + i, bits, visit);
      });
    }
  }

 private:
  static constexpr int kAlignmentBits = 4;
  static constexpr int kAddressBits = 48;
  static constexpr int kLeafBits = 19;
  static constexpr int kMiddleBits = 11;
  static constexpr int kTopBits = kAddressBits - kGranuleBits - kLeafBits - kMiddleBits;
  static_assert(kGranuleBits >= kAlignmentBits);
  static constexpr std::size_t kWords = std::size_t{1} << kLeafBits;
  static constexpr int kPartBits = 8;
  static constexpr std::size_t kParts = std::size_t{1} << kPartBits;
  static constexpr int kPartShift = kGranuleBits + kLeafBits - kPartBits;
  static constexpr std::size_t kWordsInPart = kWords / kParts;
  /// The number of parts to prefault (64 KiB): few, because a heap that stops growing wastes them.
  static constexpr std::size_t kPartsAtOnce = 8;
  static constexpr std::size_t kWordsAtOnce = 64;
  static constexpr std::size_t kSmallPage = 4096;
  static_assert(kWords * sizeof(Word) == Arena::kHugePage);

  struct Leaf {
    std::array<Word, kWords> words;
  };
  struct Middle {
    std::array<std::atomic<Leaf*>, std::size_t{1} << kMiddleBits> leaves;
    /// One byte per part of each leaf: 1 if `make` has prepared the part for writing.
    std::array<std::atomic<std::uint8_t>, kParts << kMiddleBits> made;
    /// One bit per leaf, 1 if in use. Read first, to leave unused pages of `made` untouched.
    std::array<std::atomic<std::uint64_t>, (std::size_t{1} << kMiddleBits) / 64> used;

    [[nodiscard]] bool is_made(std::size_t part) const noexcept {
      return made[part].load(std::memory_order_relaxed) != 0;
    }

    /// Returns whether at least half of the next lower leaf is in use. Returns false for the first
    /// leaf of a middle node, because the next lower leaf is in another node.
    [[nodiscard]] bool is_dense_below(std::size_t leaf) const noexcept {
      if (leaf == 0) return false;
      std::size_t parts = 0;
      for (std::size_t i = (leaf - 1) * kParts; i < leaf * kParts; ++i) {
        parts += is_made(i) ? 1u : 0u;
      }
      return parts >= kParts / 2;
    }
  };

  template <class Bits>
  static void set_bit(Bits& bits, std::size_t bit) noexcept {
    bits[bit / 64].fetch_or(std::uint64_t{1} << (bit % 64), std::memory_order_release);
  }

  template <class Bits, class Visit>
  static void for_each_bit(const Bits& bits, Visit&& visit) {
    for (std::size_t i = 0; i < bits.size(); ++i) {
      for (std::uint64_t left = bits[i].load(std::memory_order_acquire); left != 0;
           left &= left - 1) {
        visit(i * 64 + static_cast<std::size_t>(std::countr_zero(left)));
      }
    }
  }

  static std::uintptr_t address_of(const void* pointer) noexcept {
    return reinterpret_cast<std::uintptr_t>(pointer);
  }
  static std::size_t top_of(std::uintptr_t address) noexcept {
    return address >> (kAddressBits - kTopBits);
  }
  static std::size_t middle_of(std::uintptr_t address) noexcept {
    return (address >> (kGranuleBits + kLeafBits)) % (std::size_t{1} << kMiddleBits);
  }
  /// Returns the index of the part in `Middle::made`.
  static std::size_t part_of(std::uintptr_t address) noexcept {
    return (address >> kPartShift) % (kParts << kMiddleBits);
  }
  static std::size_t word_of(std::uintptr_t address) noexcept {
    return (address >> kGranuleBits) % kWords;
  }

  /// Faults in the pages of a part for writing. If the heap grows upwards, prefaults several parts
  /// by one system call, which costs less than a fault for each page.
  static void bring_in(const Middle& middle, Leaf& leaf, std::uintptr_t address) noexcept {
    const std::size_t part = part_of(address);
    Word* const words = &leaf.words[word_of(address) / kWordsInPart * kWordsInPart];
    if (part % kPartsAtOnce == 0 && part > 0 && middle.is_made(part - 1)) {
      os::bring_in_pages(words, kPartsAtOnce * kWordsInPart * sizeof(Word));
    }
    for (std::size_t i = 0; i < kWordsInPart; i += kSmallPage / sizeof(Word)) {
      words[i].fetch_or(0, std::memory_order_relaxed);
    }
  }

  static Middle* middle_at(std::atomic<Middle*>& place) noexcept {
    Middle* known = place.load(std::memory_order_acquire);
    if (known != nullptr) return known;
    auto* fresh = static_cast<Middle*>(Arena::allocate_pages(sizeof(Middle)));
    if (fresh == nullptr) return nullptr;
    os::use_huge_pages(fresh, sizeof(Middle), false);
    if (place.compare_exchange_strong(known, fresh)) return fresh;
    Arena::deallocate_pages(fresh, sizeof(Middle));
    return known;
  }

  static Leaf* leaf_at(Middle& middle, std::size_t number) noexcept {
    std::atomic<Leaf*>& place = middle.leaves[number];
    Leaf* known = place.load(std::memory_order_acquire);
    if (known != nullptr) return known;
    auto* fresh = static_cast<Leaf*>(Arena::allocate_aligned_pages(sizeof(Leaf), Arena::kHugePage));
    if (fresh == nullptr) return nullptr;
    os::use_huge_pages(fresh, Arena::kHugePage, middle.is_dense_below(number));
    if (place.compare_exchange_strong(known, fresh)) return fresh;
    Arena::deallocate_pages(fresh, sizeof(Leaf));
    return known;
  }

  template <class Visit>
  static void visit_leaf(Middle& middle, std::size_t leaf, std::uintptr_t number,
                         std::uint32_t bits, Visit& visit) {
    Word* const words = middle.leaves[leaf].load(std::memory_order_relaxed)->words.data();
    for (std::size_t part = 0; part < kParts; ++part) {
      if (middle.made[leaf * kParts + part].load(std::memory_order_acquire) == 0) continue;
      visit_part(words + part * kWordsInPart, (number << kLeafBits) + part * kWordsInPart, bits,
                 visit);
    }
  }

  /// Visits the words of one part; `granule` is the number of the granule of `words[0]`.
  template <class Visit>
  static void visit_part(Word* words, std::uintptr_t granule, std::uint32_t bits, Visit& visit) {
    for (std::size_t i = 0; i < kWordsInPart; i += kWordsAtOnce) {
      for (std::uint64_t left = with_bits(words + i, bits); left != 0; left &= left - 1) {
        const std::size_t word = i + static_cast<std::size_t>(std::countr_zero(left));
        visit(reinterpret_cast<const void*>((granule + word) << kGranuleBits), words[word]);
      }
    }
  }

  /// Returns a bit mask: bit i is set if `words[i]` has one of `bits`. Branch-free, because the
  /// branches would be unpredictable: one misprediction costs more than the whole function.
  static std::uint64_t with_bits(const Word* words, std::uint32_t bits) noexcept {
    return half_with_bits(words, bits) | half_with_bits(words + kWordsAtOnce / 2, bits)
                                             << (kWordsAtOnce / 2);
  }

  using FourWords = std::uint32_t ALLOCTAP_VECTOR_OF(4 * sizeof(std::uint32_t));

  /// Tests four words at a time (SIMD). Each lane collects the result bits of its words.
  static std::uint64_t half_with_bits(const Word* words, std::uint32_t bits) noexcept {
    FourWords found{};
    FourWords weights{1, 2, 4, 8};
    for (std::size_t i = 0; i < kWordsAtOnce / 2; i += 4) {
      const FourWords have = load_four(words + i) & bits;
      found |= reinterpret_cast<FourWords>(have != 0) & weights;
      weights <<= 4;
    }
    return found[0] | found[1] | found[2] | found[3];
  }

  /// Loads 16 bytes at once, which atomics cannot. Concurrent writers store single words.
  ALLOCTAP_NO_SANITIZE static FourWords load_four(const Word* words) noexcept {
    FourWords four{};
    std::memcpy(&four, static_cast<const void*>(words), sizeof four);
    return four;
  }

  ZeroedArray<std::atomic<Middle*>, std::size_t{1} << kTopBits> root_;
};

using ShadowMemory = BasicShadowMemory<4>;

/// Minimum block size for which the kernel is asked which pages are present. The query takes 4 us.
/// Filling a block of this size takes as long if resident, 40 times that if absent.
inline constexpr std::size_t kLeastBytesAskedFor = std::size_t{256} << 10;

/// Calls `visit(std::byte* begin, std::size_t bytes)` for the parts of a block that may be nonzero:
/// all of a small block, the resident and swapped pages of a large one. Visits the whole block if
/// the kernel cannot be queried. Runs inside malloc; preserves errno.
template <class Visit>
void visit_touched(std::byte* begin, std::size_t bytes, Visit&& visit) noexcept {
  const bool may_ask = !os::threads_are_confined.load(std::memory_order_relaxed);
  if (bytes < kLeastBytesAskedFor || !may_ask) return visit(begin, bytes);
  const os::ErrnoGuard preserve_error;
  const auto start = reinterpret_cast<std::uintptr_t>(begin);
  os::visit_present_pages(start, start + bytes, [&](std::uintptr_t from, std::uintptr_t to) {
    visit(reinterpret_cast<std::byte*>(from), to - from);
  });
}

/// Copies like memcpy, but does not fault in pages of either range that were never touched.
void copy_touched(void* destination, const void* source, std::size_t bytes) noexcept;

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/runtime/impl/shadow_memory.hpp"
#endif
