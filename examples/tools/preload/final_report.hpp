/// The reports that a tracked program leaves.
#pragma once

#include <cstdint>
#include <string_view>

#include "alloctap/status.hpp"
#include "settings.hpp"

namespace alloctap::run {

/// Names the directory for a report that belongs on standard error, if that is gone in the end.
/// `path` is absolute, and kept as it is.
void provide_spare_directory(const char* path) noexcept;

/// From now on this process owes a report as `settings` says. `settings` outlives the process's
/// program. Also in a forked child that is followed.
void owe_report(const Settings& settings) noexcept;

/// This process owes none (any more): a child that is not followed.
void forgive_report() noexcept;

/// Whether the calling process itself owes a report. False in children that share its memory or a
/// copy of it without having passed through fork's handlers (vfork, clone).
[[nodiscard]] bool report_owed() noexcept;

/// From now on the process is not asked which one it is: a filter of system calls refuses that.
/// `report_owed` takes children that share its memory for the process itself.
void stop_asking_for_process() noexcept;

/// What `owe_report` was told last.
[[nodiscard]] const Settings& report_settings() noexcept;

/// Writes a report now, one number above the last of this process. Allocates nothing from the
/// program's allocator and takes none of its locks and none of the C library's, but needs some room
/// on the stack. Errors go to stderr.
void write_report() noexcept;

/// What the program has allocated in all, as of the last report.
[[nodiscard]] std::uint64_t allocated_bytes_in_report() noexcept;

/// What the program is to end with in the place of `status`: `error_exit_code` of the settings
/// where checks found anything, or the last report has leaks. Precondition: that report is written.
[[nodiscard]] int code_of_errors(int status) noexcept;

/// Prints "alloctap-run: ..." to stderr, in one piece.
void print_line(std::string_view text) noexcept;

/// Prints what failed, in words of alloctap-run's options; nothing if `status` is OK. Allocates.
void print_error(const Status& status) noexcept;

}  // namespace alloctap::run
