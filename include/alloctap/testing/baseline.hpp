/// Allocation counts by symbolized stack, comparable between runs and builds.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "alloctap/testing/counted_stack.hpp"

namespace alloctap::testing {

/// The frames of a stack, leaf first, each as "module  function" with "?" for unknown parts. Never
/// empty: for an unknown stack, one line states that the stack is unknown.
using BaselineStack = std::vector<std::string>;

/// Allocation counts by stack. Two calls in one function have equal lines, so their counts add up.
struct Baseline {
  std::map<BaselineStack, BaselineCount> stacks;

  [[nodiscard]] BaselineCount total() const noexcept {
    BaselineCount sum;
    for (const auto& [stack, count] : stacks) sum += count;
    return sum;
  }

  friend bool operator==(const Baseline&, const Baseline&) = default;
};

}  // namespace alloctap::testing
