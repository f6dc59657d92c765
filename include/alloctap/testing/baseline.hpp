/// What a piece of a program allocates, by stacks that have the same names in every run and build.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "alloctap/testing/counted_stack.hpp"

namespace alloctap::testing {

/// The text of each frame, leaf first: "module  function", with "?" for what is not known. Never
/// empty: a stack of which nothing is known has one line that says so.
using BaselineStack = std::vector<std::string>;

/// Counts by stack. Stacks that read the same are one, as those of two calls in one function.
struct Baseline {
  /// In the order of their text.
  std::map<BaselineStack, BaselineCount> stacks;

  [[nodiscard]] BaselineCount total() const noexcept {
    BaselineCount sum;
    for (const auto& [stack, count] : stacks) sum += count;
    return sum;
  }

  friend bool operator==(const Baseline&, const Baseline&) = default;
};

}  // namespace alloctap::testing
