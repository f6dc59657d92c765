/// What a tag may use, and how it kept to that.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/event/stack_owner.hpp"
#include "alloctap/snapshot/frame_counts.hpp"

namespace alloctap {

/// What a budget limits.
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

/// What stands where there is no limit.
inline constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};

/// An allocation that went beyond a budget.
struct BudgetOffence {
  /// The budget's, not that of what was allocated, which may be inside of it.
  TagId tag = kNoTag;
  BudgetKind kind = BudgetKind::kHeldBytes;
  std::uint64_t limit = 0;
  /// What it was with this allocation.
  std::uint64_t value = 0;
  /// Of the allocation.
  StackId stack = kNoStackId;
  FrameNumber frame = 0;
  /// Nanoseconds since the Unix epoch.
  std::int64_t time_ns = 0;
  /// What the tag is called, without those around it; lives as long as the process.
  std::string_view tag_name = {};
};

/// The state of one limit.
struct LimitSummary {
  std::uint64_t limit = kUnlimited;
  /// What is held now, or was used in the frame so far.
  std::uint64_t value = 0;
  /// The most that it was: ever, or in one frame.
  std::uint64_t most = 0;
  /// How many times the action was taken.
  std::uint64_t offences = 0;
};

/// A budget of a tag and all that is inside of it.
struct BudgetSummary {
  TagId tag = kNoTag;
  /// By `BudgetKind`.
  std::array<LimitSummary, kBudgetKinds> limits{};
};

}  // namespace alloctap
