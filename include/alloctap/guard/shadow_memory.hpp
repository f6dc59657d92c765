/// A word for each 16 bytes of address space.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>

#include "alloctap/guard/arena.hpp"
#include "alloctap/guard/zeroed_array.hpp"
#include "alloctap/macros.hpp"

namespace alloctap {

/// A sparse array over the 48-bit address space in three levels. A leaf covers 8 MiB of it with
/// 2 MiB of words, which come as zeroed pages when they are first asked for. Where the leaf below
/// is nearly full, a heap is growing, and one huge page is asked for in place of many small ones:
/// then at least 7 MiB of heap stand against 2 MiB of words that may not be needed.
///
/// Which parts of a leaf were ever asked for is noted beside its address: what was not is never
/// read, because for that the system would map a page of zeros, and map another when it is written.
///
/// Thread-safe, runs inside malloc. Constant-initialized, never destroyed.
class ShadowMemory {
 public:
  using Word = std::atomic<std::uint32_t>;
  /// Bytes.
  static constexpr std::uintptr_t kRegion = 4096;

  constexpr ShadowMemory() noexcept = default;

  /// Whether `pointer` has a word: multiples of 16 below the end of the address space, in one
  /// comparison.
  static bool covers(const void* pointer) noexcept {
    return std::rotr(address_of(pointer), kGranuleBits) >> (kAddressBits - kGranuleBits) == 0;
  }

  /// Whether `word[1]` of `pointer`'s word is that of the next 16 bytes, in the same 4 KiB: a queue
  /// that keeps the order of events within so much never changes neighbours on two threads at once.
  static bool has_neighbour(const void* pointer) noexcept {
    return address_of(pointer) % kRegion < kRegion - (std::uintptr_t{1} << kGranuleBits);
  }

  /// The word of `pointer`, which is covered; nullptr where it was never made, so that it is 0.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE Word* find(const void* pointer) noexcept {
    const std::uintptr_t address = address_of(pointer);
    Middle* const middle = root_[top_of(address)].load(std::memory_order_acquire);
    if (middle == nullptr) [[unlikely]] {
      return nullptr;
    }
    Link& link = middle->links[middle_of(address)];
    const std::size_t word = word_of(address);
    const std::size_t part = word / kWordsInPart;
    const std::uint64_t made = link.made[part / 64].load(std::memory_order_acquire);
    if ((made >> (part % 64) & 1) == 0) [[unlikely]] {
      return nullptr;
    }
    return &link.leaf.load(std::memory_order_relaxed)->words[word];
  }

  /// The same, made if need be; nullptr where the system has no memory for it.
  [[nodiscard]] ALLOCTAP_NOINLINE Word* make(const void* pointer) noexcept {
    const std::uintptr_t address = address_of(pointer);
    Middle* const middle = middle_at(root_[top_of(address)]);
    if (middle == nullptr) return nullptr;
    Link* const link = &middle->links[middle_of(address)];
    const bool growing = middle_of(address) > 0 && link[-1].nearly_full();
    Leaf* const leaf = leaf_at(link->leaf, growing);
    if (leaf == nullptr) return nullptr;
    const std::size_t part = word_of(address) / kWordsInPart;
    touch(&leaf->words[part * kWordsInPart]);
    set_bit(link->made, part);
    set_bit(middle->used, middle_of(address));
    return &leaf->words[word_of(address)];
  }

  /// Calls `visit(pointer, Word&)` for each word that has one of `bits` (default: is not 0), in the
  /// order of addresses.
  template <class Visit>
  void for_each(Visit&& visit, std::uint32_t bits = ~std::uint32_t{0}) {
    for (std::size_t top = 0; top < root_.size(); ++top) {
      Middle* middle = root_[top].load(std::memory_order_acquire);
      if (middle == nullptr) continue;
      for_each_bit(middle->used, [&](std::size_t i) {
        visit_link(middle->links[i], top * middle->links.size() + i, bits, visit);
      });
    }
  }

 private:
  static constexpr int kGranuleBits = 4;
  static constexpr int kLeafBits = 19;
  static constexpr int kMiddleBits = 13;
  static constexpr int kTopBits = 12;
  static constexpr int kAddressBits = kGranuleBits + kLeafBits + kMiddleBits + kTopBits;
  static constexpr std::size_t kWords = std::size_t{1} << kLeafBits;
  static constexpr std::size_t kParts = 256;
  static constexpr std::size_t kWordsInPart = kWords / kParts;
  static constexpr std::size_t kWordsAtOnce = 64;
  static constexpr std::size_t kSmallPage = 4096;
  static_assert(kWords * sizeof(Word) == Arena::kHugePage);

  struct Leaf {
    std::array<Word, kWords> words;
  };
  /// A cache line: what is needed to find a word, and no other.
  struct alignas(64) Link {
    std::atomic<Leaf*> leaf;
    /// One bit for each part of the leaf.
    std::array<std::atomic<std::uint64_t>, kParts / 64> made;

    [[nodiscard]] bool nearly_full() const noexcept {
      int parts = 0;
      for (const auto& bits : made) parts += std::popcount(bits.load(std::memory_order_relaxed));
      return parts >= static_cast<int>(kParts / 8 * 7);
    }
  };
  struct Middle {
    std::array<Link, std::size_t{1} << kMiddleBits> links;
    /// One bit for each link with a leaf: most pages of links are never touched.
    std::array<std::atomic<std::uint64_t>, (std::size_t{1} << kMiddleBits) / 64> used;
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
  static std::size_t word_of(std::uintptr_t address) noexcept {
    return (address >> kGranuleBits) % kWords;
  }

  /// Makes the system map the pages of a part for writing.
  static void touch(Word* part) noexcept {
    for (std::size_t i = 0; i < kWordsInPart; i += kSmallPage / sizeof(Word)) {
      part[i].fetch_or(0, std::memory_order_relaxed);
    }
  }

  static Middle* middle_at(std::atomic<Middle*>& place) noexcept {
    Middle* known = place.load(std::memory_order_acquire);
    if (known != nullptr) return known;
    auto* fresh = static_cast<Middle*>(Arena::allocate_pages(sizeof(Middle)));
    if (fresh == nullptr || place.compare_exchange_strong(known, fresh)) return fresh;
    Arena::deallocate_pages(fresh, sizeof(Middle));
    return known;
  }

  static Leaf* leaf_at(std::atomic<Leaf*>& place, bool with_huge_page) noexcept {
    Leaf* known = place.load(std::memory_order_acquire);
    if (known != nullptr) return known;
    auto* fresh = static_cast<Leaf*>(Arena::allocate_aligned_pages(sizeof(Leaf), Arena::kHugePage));
    if (fresh == nullptr) return nullptr;
    os::use_huge_pages(fresh, Arena::kHugePage, with_huge_page);
    if (place.compare_exchange_strong(known, fresh)) return fresh;
    Arena::deallocate_pages(fresh, sizeof(Leaf));
    return known;
  }

  template <class Visit>
  static void visit_link(Link& link, std::uintptr_t number, std::uint32_t bits, Visit& visit) {
    Word* const words = link.leaf.load(std::memory_order_relaxed)->words.data();
    for_each_bit(link.made, [&](std::size_t part) {
      for (std::size_t i = 0; i < kWordsInPart; i += kWordsAtOnce) {
        const std::size_t at = part * kWordsInPart + i;
        for (std::uint64_t left = with_bits(words + at, bits); left != 0; left &= left - 1) {
          const std::size_t word = at + static_cast<std::size_t>(std::countr_zero(left));
          const std::uintptr_t granule = (number << kLeafBits) + word;
          visit(reinterpret_cast<const void*>(granule << kGranuleBits), words[word]);
        }
      }
    });
  }

  /// Which of `kWordsAtOnce` words have one of `bits`, a bit for each. Without a branch: which
  /// words of a heap's shadow do is anybody's guess, and a wrong one costs more than all of this.
  static std::uint64_t with_bits(const Word* words, std::uint32_t bits) noexcept {
    std::uint64_t found = 0;
    for (std::size_t i = 0; i < kWordsAtOnce; ++i) {
      const bool has = (words[i].load(std::memory_order_relaxed) & bits) != 0;
      found |= std::uint64_t{has} << i;
    }
    return found;
  }

  ZeroedArray<std::atomic<Middle*>, std::size_t{1} << kTopBits> root_;
};

}  // namespace alloctap
