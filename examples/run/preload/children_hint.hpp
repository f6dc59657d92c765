#pragma once

#include <string_view>

namespace alloctap::run {

/// To be called when the program starts, before any helper: children of this process are those that
/// a program had which became this one by exec.
void note_earlier_children() noexcept;

/// Returns true if this process did little but start others and wait for them, and they were not
/// tracked: a shell, make, what a shell became in the end, or a program that used a small part of
/// its children's time. To be asked before the last report, whose helper is a child too; false from
/// the second call on.
[[nodiscard]] bool only_started_others() noexcept;

inline constexpr std::string_view kChildrenHint =
    "PROGRAM started other processes, which were not tracked; to track them too, add "
    "--follow-children, and %p to the path of each report";

}  // namespace alloctap::run
