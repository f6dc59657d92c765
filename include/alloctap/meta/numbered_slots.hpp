/// From hashes to the numbers of entries that lie elsewhere.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "alloctap/macros.hpp"
#include "alloctap/runtime/arena.hpp"

namespace alloctap {

/// Sixteen slots to a cache line: a number, and in the bits that no number has, a tag of the hash,
/// so that a search seldom looks at an entry that it does not want. Open addressing, linear
/// probing; the user keeps it at most half full. A table that no longer fits into the inner caches
/// of a processor has a small one in front of it, direct-mapped, of what was found lately.
///
/// Used by one thread, inside malloc. Not movable, never destroyed.
class NumberedSlots {
 public:
  static constexpr std::size_t kFirstCapacity = 32;
  /// From how many slots on there are recent ones too.
  static constexpr std::size_t kLargeCapacity = 16 * 1024;

  NumberedSlots() noexcept { slots_ = first_.data(); }
  NumberedSlots(const NumberedSlots&) = delete;
  NumberedSlots& operator=(const NumberedSlots&) = delete;

  [[nodiscard]] std::size_t capacity() const noexcept { return mask_ + 1; }

  /// The number of an entry that was inserted with `hash` and for which `is_wanted(number)`; 0
  /// where there is none. `is_wanted` may be asked about 0 and about entries with other hashes.
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

  /// Precondition: there is a free slot, and `number` is not 0 and below `capacity()`.
  void insert(std::uint64_t hash, std::uint32_t number) noexcept {
    std::size_t at = hash & mask_;
    while (slots_[at] != 0) at = (at + 1) & mask_;
    slots_[at] = (tag_of(hash) & ~number_mask()) | number;
  }

  /// Empty from now on, with `capacity` slots, a power of two above the present one. False, and no
  /// change, where the system has no memory.
  [[nodiscard]] bool restart_with(std::size_t capacity) noexcept {
    Slot* const slots = make<Slot>(capacity);
    if (slots == nullptr) return false;
    if (slots_ != first_.data()) Arena::deallocate(slots_, this->capacity() * sizeof(Slot));
    slots_ = slots;
    mask_ = capacity - 1;
    // Without them it works too.
    if (recent_ == nullptr && capacity >= kLargeCapacity) recent_ = make<Recent>(kRecent);
    return true;
  }

 private:
  /// 0 where it is free.
  using Slot = std::uint32_t;

  struct Recent {
    std::uint32_t tag;
    std::uint32_t number;
  };

  static constexpr std::size_t kRecent = 2048;

  /// What does not choose the slot.
  static std::uint32_t tag_of(std::uint64_t hash) noexcept {
    return static_cast<std::uint32_t>(hash >> 32);
  }

  template <class Element>
  static Element* make(std::size_t count) noexcept {
    return static_cast<Element*>(Arena::allocate_table(count * sizeof(Element)));
  }

  /// The bits of a slot that are its number's.
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
  /// nullptr while the table is small, or where there was no memory for it.
  Recent* recent_ = nullptr;
  std::array<Slot, kFirstCapacity> first_{};
};

}  // namespace alloctap
