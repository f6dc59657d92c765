/// Set of the Windows heaps that were created without a lock.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

#include "alloctap/os/windows/api.hpp"

namespace alloctap {

/// Heaps created with HEAP_NO_SERIALIZE since the hook was installed. Their blocks are not checked,
/// because only the program knows when such a heap may be called. Thread-safe; runs inside malloc.
/// Constant-initialized, never destroyed.
class NoSerializeHeaps {
 public:
  constexpr NoSerializeHeaps() noexcept = default;

  void add(HANDLE heap) noexcept {
    for (std::atomic<HANDLE>& place : heaps_) {
      HANDLE none = nullptr;
      if (place.compare_exchange_strong(none, heap)) return static_cast<void>(++count_);
    }
    knows_all_ = false;
  }

  void remove(HANDLE heap) noexcept {
    for (std::atomic<HANDLE>& place : heaps_) {
      HANDLE held = heap;
      if (place.compare_exchange_strong(held, nullptr)) return static_cast<void>(--count_);
    }
  }

  /// Returns true if `heap` is in the set, or if the set overflowed.
  [[nodiscard]] bool has(HANDLE heap) const noexcept {
    if (!knows_all_.load(std::memory_order_relaxed)) return true;
    if (count_.load(std::memory_order_acquire) == 0) return false;
    for (const std::atomic<HANDLE>& place : heaps_) {
      if (place.load(std::memory_order_relaxed) == heap) return true;
    }
    return false;
  }

 private:
  std::array<std::atomic<HANDLE>, 64> heaps_{};
  std::atomic<std::size_t> count_{0};
  std::atomic<bool> knows_all_{true};
};

}  // namespace alloctap
