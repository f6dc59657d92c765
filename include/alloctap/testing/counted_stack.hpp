/// Allocation counts of one stack during a measurement.
#pragma once

#include <cstdint>

#include "alloctap/event/stack_identity.hpp"

namespace alloctap::testing {

/// Number of allocations and their requested bytes, including blocks freed meanwhile.
struct BaselineCount {
  std::uint64_t allocations = 0;
  std::uint64_t bytes = 0;

  constexpr BaselineCount& operator+=(const BaselineCount& more) noexcept {
    allocations += more.allocations;
    bytes += more.bytes;
    return *this;
  }

  friend constexpr bool operator==(const BaselineCount&, const BaselineCount&) noexcept = default;
};

struct CountedStack {
  StackId stack = kNoStackId;
  std::uint64_t allocations = 0;
  std::uint64_t bytes = 0;
};

}  // namespace alloctap::testing
