/// Where the arena's memory lies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>

#include "alloctap/runtime/futex_lock.hpp"
#include "alloctap/runtime/zeroed_array.hpp"

namespace alloctap {

/// The ranges of addresses that the arena holds, for whoever has to tell the tracker's memory from
/// the program's. Ranges that touch are one, so there are few: systems place mappings side by side.
///
/// Thread-safe, runs inside malloc. Constant-initialized, never destroyed.
class ArenaRegions {
 public:
  /// `[start, end)`.
  struct Region {
    std::uintptr_t start;
    std::uintptr_t end;
  };

  /// As many ranges can be kept apart.
  static constexpr std::size_t kMost = 16 * 1024;

  static void add(const void* address, std::size_t bytes) noexcept;

  /// Of what was added, parts may go.
  static void remove(const void* address, std::size_t bytes) noexcept;

  /// Calls `visit(const Region&)` by ascending address. It may use the arena: a range that grows
  /// meanwhile may be visited twice, and one that comes below it is not.
  template <class Visit>
  static void for_each(Visit&& visit) {
    Region region{0, 0};
    while (find_ending_behind(region.end, region)) visit(region);
  }

  /// False: there were more than `kMost` once, and some are not known.
  [[nodiscard]] static bool complete() noexcept {
    const std::lock_guard hold(lock_);
    return complete_;
  }

  /// Held around fork.
  [[nodiscard]] static FutexLock& lock() noexcept { return lock_; }

 private:
  static bool find_ending_behind(std::uintptr_t address, Region& region) noexcept;

  /// The first range that reaches beyond `address`.
  static std::size_t first_ending_behind(std::uintptr_t address) noexcept;

  static void insert(Region added) noexcept;

  static void erase(std::size_t at) noexcept {
    --count_;
    std::memmove(&regions_[at], &regions_[at + 1], (count_ - at) * sizeof(Region));
  }

  static inline constinit FutexLock lock_;
  static inline constinit ZeroedArray<Region, kMost + 1> regions_;
  static inline constinit std::size_t count_ = 0;
  static inline constinit bool complete_ = true;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/runtime/impl/arena_regions.hpp"
#endif
