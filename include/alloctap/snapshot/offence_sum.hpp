/// What was allocated in scopes that must not allocate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/event/stack_identity.hpp"

namespace alloctap {

/// What was allocated, and what was given back.
struct AllocationSums {
  std::uint64_t allocations = 0;
  std::uint64_t bytes = 0;
  std::uint64_t frees = 0;
};

/// What one stack did in all runs of the scopes of one name that were offended against: of a scope
/// that allows some allocations, those too.
struct OffenceSum {
  static constexpr std::size_t kLongestName = 63;

  StackId stack = kNoStackId;
  /// In how many runs.
  std::uint64_t scopes = 0;
  AllocationSums sums = {};
  char name_text[kLongestName + 1] = {};

  /// Of the scope, cut to `kLongestName` bytes.
  [[nodiscard]] std::string_view scope() const noexcept { return name_text; }
};

}  // namespace alloctap
