#pragma once

#include <string_view>

namespace alloctap::run {

/// To be called when the program starts, before any helper: children of this process are those that
/// a program had which became this one by exec.
void note_earlier_children() noexcept;

/// To be called before each helper starts, by one thread at a time: what this process starts from
/// then on is not told from helpers.
void note_helper() noexcept;

/// Returns true if this process started others that were not tracked, and the user may be told. To
/// be asked before the last report, whose helper is a child too; false from the second call on.
[[nodiscard]] bool has_untracked_children() noexcept;

/// Returns true if it did little else: a shell, make, what a shell became in the end, or a program
/// that allocated next to nothing or used a small part of its children's time. Precondition: the
/// last report is written.
[[nodiscard]] bool did_little_else() noexcept;

inline constexpr std::string_view kChildrenHint =
    "PROGRAM started other processes, which were not tracked; to track them too, add "
    "--follow-children, and %p to the path of each report";

}  // namespace alloctap::run
