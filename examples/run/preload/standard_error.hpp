/// The standard error that the program was started with.
///
/// Many programs have closed theirs by the time of the report (GNU's close_stdout does), and some
/// have a file of their own under its number. So a copy is kept out of their way.
#pragma once

namespace alloctap::run {

/// Makes the copy, unless it was made before exec or fork. Control plane.
void keep_standard_error() noexcept;

/// Closes the copy: in a child that is not followed, because whoever reads the other end of a pipe
/// must not wait for it.
void drop_standard_error() noexcept;

/// A descriptor of it; -1 where the program has closed or replaced them all.
[[nodiscard]] int standard_error() noexcept;

/// Makes a copy of standard output too, which goes with that of standard error.
void keep_standard_output() noexcept;

/// The copy of standard output; -1 where there is none.
[[nodiscard]] int standard_output() noexcept;
/// Before a filter that may refuse to look: `standard_error` answers as now from then on, where it
/// cannot know better.
void keep_standard_error_for_confinement() noexcept;

}  // namespace alloctap::run
