/// What one stack allocated while something was measured.
#pragma once

#include <cstdint>

#include "alloctap/event/stack_identity.hpp"

namespace alloctap::testing {

/// Calls and bytes, as the program asked for them; what was freed meanwhile is in it too.
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
