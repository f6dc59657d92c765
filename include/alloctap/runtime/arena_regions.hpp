/// A table of the address ranges that the tracker's arena has mapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>

#include "alloctap/runtime/futex_lock.hpp"
#include "alloctap/runtime/static_objects.hpp"

namespace alloctap {

/// A sorted table of the arena's mappings, to distinguish the tracker's memory from the program's.
/// Adjacent ranges are merged. The table stays short, because kernels place mappings side by side.
///
/// Thread-safe; runs inside malloc. Constant-initialized, never destroyed.
class ArenaRegions {
 public:
  /// The addresses `[start, end)`.
  struct Region {
    std::uintptr_t start;
    std::uintptr_t end;
  };

  /// The capacity of the table, in ranges.
  static constexpr std::size_t kMaxCount = 16 * 1024;

  static void add(const void* address, std::size_t bytes) noexcept;

  /// Removes a range, which may be part of an added range.
  static void remove(const void* address, std::size_t bytes) noexcept;

  /// Calls `visit(const Region&)` by ascending address. `visit` may use the arena: a range that
  /// grows may then be visited twice, and a range added below the current position is not visited.
  template <class Visit>
  static void for_each(Visit&& visit) {
    Region region{0, 0};
    while (find_ending_behind(region.end, region)) visit(region);
  }

  /// Returns whether the table lists all ranges; false once the table has overflowed.
  [[nodiscard]] static bool complete() noexcept {
    const std::lock_guard hold(lock_);
    return complete_;
  }

  /// Returns the lock of the table, which is held around fork.
  [[nodiscard]] static FutexLock& lock() noexcept { return lock_; }

 private:
  static bool find_ending_behind(std::uintptr_t address, Region& region) noexcept;

  /// Returns the index of the first range that ends above `address`.
  static std::size_t first_ending_behind(std::uintptr_t address) noexcept;

  static void insert(Region added) noexcept;

  static void erase(std::size_t at) noexcept {
    --count_;
    std::memmove(&regions_[at], &regions_[at + 1], (count_ - at) * sizeof(Region));
  }

  static inline constinit FutexLock lock_;
  static inline constinit ZeroedArray<Region, kMaxCount + 1> regions_;
  static inline constinit std::size_t count_ = 0;
  static inline constinit bool complete_ = true;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/runtime/impl/arena_regions.hpp"
#endif
