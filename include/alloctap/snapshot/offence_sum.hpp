/// Allocations in no-allocation scopes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/event/stack_identity.hpp"

namespace alloctap {

/// Sums of allocations and frees.
struct AllocationSums {
  std::uint64_t allocations = 0;
  std::uint64_t bytes = 0;
  std::uint64_t frees = 0;
};

/// The activity of one stack in all violated runs of the scopes with one name. Includes the
/// allocations that a scope permits.
struct OffenceSum {
  static constexpr std::size_t kLongestName = 63;

  StackId stack = kNoStackId;
  /// Number of violated runs.
  std::uint64_t scopes = 0;
  AllocationSums sums = {};
  char name_text[kLongestName + 1] = {};

  /// Returns the scope's name, truncated to `kLongestName` bytes.
  [[nodiscard]] std::string_view scope() const noexcept { return name_text; }
};

}  // namespace alloctap
