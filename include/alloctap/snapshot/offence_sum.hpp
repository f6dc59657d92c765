/// Allocations in no-allocation scopes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/event/stack_identity.hpp"

namespace alloctap {

/// Sums of allocations and frees in no-allocation scopes.
struct AllocationSums {
  std::uint64_t allocations = 0;
  std::uint64_t bytes = 0;
  std::uint64_t frees = 0;
};

/// The allocations and frees of one stack in no-allocation scopes with one name. Counts only
/// executions of a scope that violated it. In such executions, also counts permitted allocations.
struct OffenceSum {
  static constexpr std::size_t kLongestName = 63;

  StackId stack = kNoStackId;
  /// Number of executions of the scope that violated it.
  std::uint64_t scopes = 0;
  AllocationSums sums = {};
  char name_text[kLongestName + 1] = {};

  /// Returns the scope's name, truncated to `kLongestName` bytes.
  [[nodiscard]] std::string_view scope() const noexcept { return name_text; }
};

}  // namespace alloctap
