/// The standard error that the program was started with.
///
/// Reports go to descriptor 2 as long as it is the file that the program began with. No copy is
/// held meanwhile: it would delay the end of file for the reader of a pipe, and appear among the
/// program's descriptors.
#pragma once

namespace alloctap::run {

/// Notes which file standard error is; on Windows, makes the copy. Control plane.
void note_standard_error() noexcept;

/// Makes a copy for the report to come; to be called before the program closes the stream
/// `stderr`, as GNU's tools do when they exit. Does nothing in a forked process: daemons close it.
void keep_standard_error() noexcept;

/// Closes the copy in a forked child, which never makes one. Control plane.
void drop_standard_error() noexcept;

/// Returns a descriptor of that file; -1 if the program has closed or replaced it.
[[nodiscard]] int standard_error() noexcept;

/// Notes standard output, for a report that is to go there. Control plane.
void note_standard_output() noexcept;

/// Makes a copy, as `keep_standard_error` does, if standard output was noted.
void keep_standard_output() noexcept;

/// Returns a descriptor of the standard output that was noted; -1 if it is closed or replaced.
[[nodiscard]] int standard_output() noexcept;

/// Before a filter that may refuse to look: `standard_error` answers as now from then on, where it
/// cannot know better.
void keep_standard_error_for_confinement() noexcept;

}  // namespace alloctap::run
