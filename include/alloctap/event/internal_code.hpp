/// Code ranges of the tracker whose frames are left out of stacks.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloctap/event/address_range.hpp"

namespace alloctap {

/// Ranges of tracker code that the program's code may run below: a replacement of dlclose, which
/// runs destructors of the program, or a whole preloaded object.
///
/// Lock-free; `contains` may run inside malloc. Constant-initialized, never destroyed.
class InternalCode {
 public:
  static constexpr std::size_t kMaxRanges = 16;

  /// Adds a range once. If the table is full, the frames of the range stay in stacks.
  void add(AddressRange range) noexcept {
    if (range.empty() || contains(range.start)) return;
    for (Range& slot : ranges_) {
      std::uintptr_t free = 0;
      if (!slot.end.compare_exchange_strong(free, kReserved)) continue;
      slot.start.store(range.start, std::memory_order_relaxed);
      slot.end.store(range.end, std::memory_order_release);
      return;
    }
  }

  /// Whether the instruction at `address` lies in a range.
  [[nodiscard]] bool contains(std::uintptr_t address) const noexcept {
    for (const Range& range : ranges_) {
      const std::uintptr_t end = range.end.load(std::memory_order_acquire);
      if (end == 0) return false;
      if (address < end && end != kReserved && address >= range.start.load()) return true;
    }
    return false;
  }

 private:
  /// The `end` of a range whose `start` is being written.
  static constexpr std::uintptr_t kReserved = 1;

  struct Range {
    std::atomic<std::uintptr_t> start{0};
    /// 0 if the slot is free. Slots are filled in order.
    std::atomic<std::uintptr_t> end{0};
  };

  std::array<Range, kMaxRanges> ranges_{};
};

inline constinit InternalCode internal_code;

}  // namespace alloctap
