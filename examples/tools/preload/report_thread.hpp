/// The thread that writes the reports.
///
/// It waits from the start, because when the end comes there may be no room on a stack, no lock to
/// be had and no thread to be made. The C library does not count it (`single_threaded.hpp`).
#pragma once

namespace alloctap::run {

/// Starts the thread and does not wait for it; false, with a line on stderr, where the system
/// refuses. Again in a followed child after fork, where the parent's thread does not exist. Control
/// plane.
[[nodiscard]] bool start_report_thread() noexcept;

/// Returns when the thread, if there is one, has made the system calls that its start takes: before
/// the program forbids them to all threads. Control plane.
void await_report_thread() noexcept;

/// Ends the thread, if it runs: before a filter of system calls that would not let it work. Then
/// `settle_report` says why there is no report. Control plane.
void stop_report_thread() noexcept;

/// Asks for a report while the program goes on. May be called inside a signal handler.
void request_dump() noexcept;

/// Asks for the final report, which is written once. May be called inside a signal handler.
void request_report() noexcept;

/// Returns when the report is written; it was requested. May be called inside a signal handler.
void wait_for_report() noexcept;

/// Both, if this process owes a report. Before the process ends: a thread that a signal handler
/// keeps inside the tracker does not return there.
void settle_report() noexcept;

/// Whether there is nothing left to wait for.
[[nodiscard]] bool report_written() noexcept;

/// For a thread that must not get further while another one ends the process. May be called inside
/// a signal handler.
[[noreturn]] void sleep_for_ever() noexcept;

/// Makes the thread call `end`, which does not return, once the report is written; it was
/// requested. For a signal handler that cannot wait. `end` is the same for every call.
void end_process_after_report(void (*end)() noexcept) noexcept;

}  // namespace alloctap::run
