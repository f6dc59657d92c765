/// `set_budget`: limits a tag's live bytes, and its allocations per game frame.
#pragma once

#include <string_view>

#include "alloctap/game/frames.hpp"
#include "alloctap/status.hpp"
#include "alloctap/tag/tag_path.hpp"

namespace alloctap {

/// Limits the memory of `tag` and nested tags in trackers with the observer `Frames`:
///
///     alloctap::set_budget("Game/Physics",
///                          {.held_bytes = 64 << 20, .allocations_per_frame = 100},
///                          {.on_offence = &log_offence});
///
/// `path` is a tag as printed in reports (`tag_at_path`). An empty path or a default `Tag` means
/// the whole program. A second call changes limits and action but not the counts; `BudgetLimits{}`
/// disables the budget. Limits per frame apply after the first `frame_mark`. Live bytes cause an
/// offence when they rise above their limit, not while they stay above it. Each limit causes at
/// most one offence per frame. Reports list the last `BudgetTable::kKeptOffences` offences.
///
/// Fails if `path` is invalid, if `BudgetTable::kMaxCount` budgets exist, or inside a dump, hook or
/// observer. Control plane; stops other threads for microseconds. All threads update the counters
/// of a budget, so each event costs some nanoseconds, and more under contention. Without budgets
/// the cost is one load.
[[nodiscard]] inline Status set_budget(Tag tag, const BudgetLimits& limits,
                                       const BudgetAction& action = {}) {
  return Frames::set_budget(tag, limits, action);
}

[[nodiscard]] inline Status set_budget(std::string_view path, const BudgetLimits& limits,
                                       const BudgetAction& action = {}) {
  const Result<Tag> tag = tag_at_path(path);
  return tag.ok() ? set_budget(*tag, limits, action) : tag.status();
}

}  // namespace alloctap
