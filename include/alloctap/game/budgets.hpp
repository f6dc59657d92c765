/// Budgets of tags: so much a part of the game may hold, and allocate in a frame.
#pragma once

#include <string_view>

#include "alloctap/game/frames.hpp"
#include "alloctap/status.hpp"
#include "alloctap/tag/tag_path.hpp"

namespace alloctap {

/// Limits `tag` and all that is inside of it, in trackers whose observers are `Frames`:
///
///     alloctap::set_budget("Game/Physics",
///                          {.held_bytes = 64 << 20, .allocations_per_frame = 100},
///                          {.on_offence = &log_offence});
///
/// `path` is a tag as reports write it (`tag_at_path`); an empty one, and a default `Tag`, is the
/// whole program. A second call changes the limits and the action, and what is counted goes on; one
/// without limits lifts them. Limits of a frame hold from the first mark on. An offence of what is
/// held is that it rises above the limit, not that it stays there; no limit offends more than once
/// in a frame. Reports tell the last `BudgetTable::kKeptOffences`.
///
/// Fails where `path` is none, where there are `BudgetTable::kMost` budgets already, and inside of
/// a dump, a hook or an observer. Control plane; stops other threads for some microseconds. A tag
/// with a budget shares its counters: some nanoseconds for each of its blocks, more where several
/// threads allocate for it at once. Where no budget is set they cost a load.
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
