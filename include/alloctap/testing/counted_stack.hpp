/// Allocation counts of one stack during a measurement, and counts as text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "alloctap/dump/human_units.hpp"
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

/// Returns "1 block" or "12345 blocks". Appends "s", so `noun` must be regular. Control plane.
[[nodiscard]] inline std::string count_text(std::uint64_t count, std::string_view noun) {
  return std::to_string(count).append(" ").append(noun).append(plural(count));
}

}  // namespace alloctap::testing
