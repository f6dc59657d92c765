/// A hash table whose values are indexes into an array of entries.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "alloctap/macros.hpp"
#include "alloctap/runtime/arena.hpp"

namespace alloctap {

/// An open-addressing table with linear probing; the caller keeps it at most half full. A 32-bit
/// slot has the number of an entry and, in the other bits, bits of the hash, so a search rarely
/// reads a wrong entry. A table too large for a processor's L1 and L2 caches gets a small
/// direct-mapped cache of recent results.
///
/// Used by one thread, inside malloc. Not movable, never destroyed.
class NumberedSlots {
 public:
  static constexpr std::size_t kFirstCapacity = 32;
  /// The minimum number of slots at which recent results are cached.
  static constexpr std::size_t kLargeCapacity = 16 * 1024;

  NumberedSlots() noexcept { slots_ = first_.data(); }
  NumberedSlots(const NumberedSlots&) = delete;
  NumberedSlots& operator=(const NumberedSlots&) = delete;

  [[nodiscard]] std::size_t capacity() const noexcept { return mask_ + 1; }

  /// Returns the entry number that was inserted with `hash` and for which `is_wanted(number)`
  /// returns true; 0 if no entry qualifies. Also calls `is_wanted` with 0 and with entries of other
  /// hashes.
  template <class IsWanted>
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE std::uint32_t find(std::uint64_t hash,
                                                          IsWanted&& is_wanted) noexcept {
    if (recent_ == nullptr) return search(hash, is_wanted);
    Recent& recent = recent_[hash % kRecent];
    if (recent.tag != tag_of(hash) || !is_wanted(recent.number)) {
      recent = {.tag = tag_of(hash), .number = search(hash, is_wanted)};
    }
    return recent.number;
  }

  /// Inserts an entry. Precondition: a slot is empty, and `number` is in [1, `capacity()`).
  void insert(std::uint64_t hash, std::uint32_t number) noexcept {
    std::size_t at = hash & mask_;
    while (slots_[at] != 0) at = (at + 1) & mask_;
    slots_[at] = (tag_of(hash) & ~number_mask()) | number;
  }

  /// Empties the table and sets the capacity, a power of two above the current one. Returns false
  /// without changes if out of memory.
  [[nodiscard]] bool restart_with(std::size_t capacity) noexcept {
    Slot* const slots = make<Slot>(capacity);
    if (slots == nullptr) return false;
    if (slots_ != first_.data()) Arena::deallocate(slots_, this->capacity() * sizeof(Slot));
    slots_ = slots;
    mask_ = capacity - 1;
    // If this allocation fails, the table works without the cache.
    if (recent_ == nullptr && capacity >= kLargeCapacity) recent_ = make<Recent>(kRecent);
    return true;
  }

 private:
  /// Entry number and hash bits; 0 if empty.
  using Slot = std::uint32_t;

  struct Recent {
    std::uint32_t tag;
    std::uint32_t number;
  };

  static constexpr std::size_t kRecent = 2048;

  /// Returns the hash bits that do not select the slot.
  static std::uint32_t tag_of(std::uint64_t hash) noexcept {
    return static_cast<std::uint32_t>(hash >> 32);
  }

  template <class Element>
  static Element* make(std::size_t count) noexcept {
    return static_cast<Element*>(Arena::allocate_table(count * sizeof(Element)));
  }

  /// Returns the mask of the entry number in a slot.
  [[nodiscard]] std::uint32_t number_mask() const noexcept {
    return static_cast<std::uint32_t>(mask_);
  }

  template <class IsWanted>
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE std::uint32_t search(std::uint64_t hash,
                                                            IsWanted& is_wanted) const noexcept {
    for (std::size_t at = hash & mask_;; at = (at + 1) & mask_) {
      const Slot slot = slots_[at];
      if (slot == 0) return 0;
      const std::uint32_t number = slot & number_mask();
      const bool alike = ((slot ^ tag_of(hash)) & ~number_mask()) == 0;
      if (alike && is_wanted(number)) return number;
    }
  }

  Slot* slots_ = nullptr;
  std::size_t mask_ = kFirstCapacity - 1;
  /// nullptr if the table is small or if out of memory.
  Recent* recent_ = nullptr;
  std::array<Slot, kFirstCapacity> first_{};
};

}  // namespace alloctap
