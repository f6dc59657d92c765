/// Whether an address lies in executable memory, of a module or not.
#pragma once

#include <array>
#include <cstdint>

#include "alloctap/os/stack_bounds.hpp"

namespace alloctap {

/// A cache of memory regions, by the system's description. For code of JIT compilers, which no
/// module tells of. What was asked is trusted for `kPeriodNs`, and the system is asked at most
/// `kMaxReads` times in that: then an address that is not known counts as no code. Belongs to one
/// thread; runs inside malloc. errno may change.
class CodeRegions {
 public:
  static constexpr std::int64_t kPeriodNs = 100'000'000;
  static constexpr std::uint32_t kMaxReads = 16;

  [[nodiscard]] bool contains(std::uintptr_t address) noexcept;

 private:
  /// Executable or not, or a gap.
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
