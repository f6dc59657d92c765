/// Reservations of 64 KiB, the allocation granularity of Windows. Their pages can be committed at
/// chosen addresses, at different times.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloctap/os/windows/api.hpp"

namespace alloctap::os {

/// The 64 KiB steps reserved by this class, each a separate allocation. The class remembers
/// `kMaxCount` steps; in any other step, pages can be committed only once.
class AddressSteps {
 public:
  static constexpr std::uintptr_t kBytes = std::uintptr_t{64} << 10;

  static std::uintptr_t step_of(std::uintptr_t address) noexcept { return address & ~(kBytes - 1); }

  /// Returns true if this class reserved the step.
  static bool knows(std::uintptr_t step) noexcept { return find(step) != nullptr; }

  /// Makes `[start, end)`, pages of one step, readable and writable. Returns false if any page of
  /// the range is in use, or if other code allocated the step.
  static bool commit(std::uintptr_t start, std::uintptr_t end) noexcept {
    const std::uintptr_t step = step_of(start);
    void* const place = reinterpret_cast<void*>(step);
    const bool is_known = knows(step);
    if (is_known && !is_unused(start, end)) return false;
    if (!is_known && ::VirtualAlloc(place, kBytes, MEM_RESERVE, PAGE_READWRITE) == nullptr) {
      return false;
    }
    if (!is_known) remember(step);
    return ::VirtualAlloc(reinterpret_cast<void*>(start), end - start, MEM_COMMIT,
                          PAGE_READWRITE) != nullptr;
  }

  /// Removes a step from the table, before its addresses are released.
  static void forget(std::uintptr_t step) noexcept {
    std::atomic<std::uintptr_t>* const known = find(step);
    if (known != nullptr) known->store(0, std::memory_order_relaxed);
  }

 private:
  static constexpr std::size_t kMaxCount = 4096;

  static std::atomic<std::uintptr_t>* find(std::uintptr_t step) noexcept {
    for (auto& known : steps_) {
      if (known.load(std::memory_order_relaxed) == step) return &known;
    }
    return nullptr;
  }

  static void remember(std::uintptr_t step) noexcept {
    for (auto& known : steps_) {
      std::uintptr_t none = 0;
      if (known.compare_exchange_strong(none, step, std::memory_order_relaxed)) return;
    }
  }

  static bool is_unused(std::uintptr_t start, std::uintptr_t end) noexcept {
    MEMORY_BASIC_INFORMATION region;
    const auto* const place = reinterpret_cast<const void*>(start);
    if (::VirtualQuery(place, &region, sizeof region) == 0) return false;
    const auto region_end =
        reinterpret_cast<std::uintptr_t>(region.BaseAddress) + region.RegionSize;
    return region.State == MEM_RESERVE && region_end >= end;
  }

  static inline constinit std::array<std::atomic<std::uintptr_t>, kMaxCount> steps_{};
};

}  // namespace alloctap::os
