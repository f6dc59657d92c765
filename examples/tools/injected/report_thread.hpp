/// The thread that writes reports while the program runs.
#pragma once

namespace alloctap::run {

/// Starts it; false, with a line on stderr, where the system refuses. Control plane.
[[nodiscard]] bool start_report_thread() noexcept;

/// Asks for a report while the program goes on.
void request_dump() noexcept;

/// Writes the last report, once: later calls, and those of other threads, wait for the first.
/// Called where the process ends, with all threads still there.
void settle_report() noexcept;

/// The same where this is the last thread, the others having been ended wherever they were.
void settle_report_alone() noexcept;

/// Has the thread do that, and waits for some seconds at most: for a caller that may hold any lock,
/// because something went wrong inside of it.
void settle_report_elsewhere() noexcept;

}  // namespace alloctap::run
