/// A per-thread cache of which memory regions are executable, for code of JIT compilers.
#pragma once

#include <array>
#include <cstdint>

#include "alloctap/os/stack_bounds.hpp"

namespace alloctap {

/// A cache of the process's memory map, for code that belongs to no loaded module. Answers are
/// cached for `kPeriodNs`, within which the system is asked at most `kMaxReads` times. Beyond that
/// limit an unknown address counts as not executable. Belongs to one thread; runs inside malloc.
/// May change errno.
class CodeRegions {
 public:
  static constexpr std::int64_t kPeriodNs = 100'000'000;
  static constexpr std::uint32_t kMaxReads = 16;

  [[nodiscard]] bool contains(std::uintptr_t address) noexcept;

 private:
  /// A mapping, executable or not, or a gap between mappings.
  struct Region {
    os::StackBounds bounds;
    bool executable;
  };

  static Region read(std::uintptr_t address) noexcept;

  std::array<Region, kMaxReads> regions_;
  std::uint32_t reads_ = 0;
  std::int64_t period_end_ = 0;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/stack/impl/code_regions.hpp"
#endif
