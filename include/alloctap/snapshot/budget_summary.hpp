/// The state of memory budgets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/event/stack_owner.hpp"
#include "alloctap/snapshot/frame_counts.hpp"

namespace alloctap {

/// The quantity that a budget limits.
enum class BudgetKind : std::uint8_t { kHeldBytes, kAllocationsPerFrame, kBytesPerFrame };
inline constexpr std::size_t kBudgetKinds = 3;
inline constexpr std::array<BudgetKind, kBudgetKinds> kAllBudgetKinds{
    BudgetKind::kHeldBytes, BudgetKind::kAllocationsPerFrame, BudgetKind::kBytesPerFrame};

[[nodiscard]] constexpr std::string_view name_of(BudgetKind kind) noexcept {
  switch (kind) {
    case BudgetKind::kHeldBytes:
      return "held_bytes";
    case BudgetKind::kAllocationsPerFrame:
      return "allocations_per_frame";
    case BudgetKind::kBytesPerFrame:
      break;
  }
  return "bytes_per_frame";
}

/// The value of a limit that is not set.
inline constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};

/// An allocation that exceeded a budget, and the state of the budget.
struct BudgetOffence {
  /// The tag whose budget was exceeded. The allocation may be in a nested tag.
  TagId tag = kNoTag;
  BudgetKind kind = BudgetKind::kHeldBytes;
  std::uint64_t limit = 0;
  /// The value of the limited quantity, including this allocation.
  std::uint64_t value = 0;
  /// The stack of the allocation.
  StackId stack = kNoStackId;
  FrameNumber frame = 0;
  /// Time of the allocation, in nanoseconds since the Unix epoch.
  std::int64_t time_ns = 0;
  /// The name of the tag without its parents. Its storage lives as long as the process.
  std::string_view tag_name = {};
};

/// The state of one limit of a budget.
struct LimitSummary {
  std::uint64_t limit = kUnlimited;
  /// Bytes held now (`kHeldBytes`), otherwise the value in the current game frame.
  std::uint64_t value = 0;
  /// The maximum of `value` so far, over all game frames.
  std::uint64_t most = 0;
  /// Number of times that the action of the budget ran.
  std::uint64_t offences = 0;
};

/// The budget of a tag and its nested tags.
struct BudgetSummary {
  TagId tag = kNoTag;
  /// Indexed by `BudgetKind`.
  std::array<LimitSummary, kBudgetKinds> limits{};
};

}  // namespace alloctap
