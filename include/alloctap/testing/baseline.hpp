/// Allocation counts by symbolized stack, comparable between runs and builds.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "alloctap/testing/counted_stack.hpp"

namespace alloctap::testing {

/// The frames of a stack, leaf first, each as "module  function" with "?" for unknown parts. Never
/// empty: an unknown stack has one line that says so.
using BaselineStack = std::vector<std::string>;

/// Allocation counts by stack. Stacks with equal lines merge, such as two calls in one function.
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
