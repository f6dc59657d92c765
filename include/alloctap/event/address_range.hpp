/// Address ranges, and the tracker's code ranges whose frames are omitted from stacks.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace alloctap {

/// The addresses `[start, end)`.
struct AddressRange {
  std::uintptr_t start = 0;
  std::uintptr_t end = 0;

  [[nodiscard]] bool empty() const noexcept { return start >= end; }
  [[nodiscard]] std::size_t length() const noexcept { return end - start; }
  [[nodiscard]] bool contains(const AddressRange& other) const noexcept {
    return start <= other.start && other.end <= end;
  }
};

/// Code of the tracker that may call the program's code: a replacement of dlclose, which runs the
/// program's destructors, or a whole preloaded library. Stacks omit the frames in this code.
///
/// Lock-free; `contains` may run inside malloc. Constant-initialized, never destroyed.
class InternalCode {
 public:
  static constexpr std::size_t kMaxRanges = 16;

  /// Adds a range unless it was added before. If the table is full, stacks keep the range's frames.
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

  /// Returns whether the instruction at `address` lies in an added range.
  [[nodiscard]] bool contains(std::uintptr_t address) const noexcept {
    for (const Range& range : ranges_) {
      const std::uintptr_t end = range.end.load(std::memory_order_acquire);
      if (end == 0) return false;
      if (address < end && end != kReserved && address >= range.start.load()) return true;
    }
    return false;
  }

 private:
  /// The value of `end` while the range's `start` is being written.
  static constexpr std::uintptr_t kReserved = 1;

  struct Range {
    std::atomic<std::uintptr_t> start{0};
    /// 0 if the slot is unused. Slots are filled in ascending order.
    std::atomic<std::uintptr_t> end{0};
  };

  std::array<Range, kMaxRanges> ranges_{};
};

inline constinit InternalCode internal_code;

}  // namespace alloctap
