/// The system calls that the program's own seccomp filters refuse.
///
/// A program that confines itself may be killed for a call that only the tracker makes. So filters
/// are evaluated as they are installed, by functions of the C library
/// (`interposed_confinement.cpp`), and what is refused is not called. Filters that were there
/// before the program are not seen, nor those that it installs past the C library. What a filter
/// asks of arguments is asked of zeros.
///
/// Every function may run on any thread, takes no lock, allocates nothing and makes no system call.
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <span>

namespace alloctap::run {

/// A set of the calls that confinement.cpp lists.
enum class CallSet : std::uint64_t {};

/// Returns what `filter` refuses. Strict mode refuses all.
[[nodiscard]] CallSet calls_refused_by(std::span<const sock_filter> filter) noexcept;
[[nodiscard]] CallSet calls_refused_by_strict_mode() noexcept;

/// Whether `refused` has calls by which fatal signals are handled, or reports written as they are
/// to be. Precondition: a report is owed.
[[nodiscard]] bool prevents_signals(CallSet refused) noexcept;
[[nodiscard]] bool prevents_reports(CallSet refused) noexcept;

/// Notes that a filter is in force: for all threads, or for the calling one and what it forks.
void add_refused_calls(CallSet refused, bool for_all_threads) noexcept;

/// In the child of a fork: the calling thread's filters are those of all threads.
void inherit_refused_calls() noexcept;

/// Whether every thread may make a call of that number, which confinement.cpp lists.
[[nodiscard]] bool may_call(long number) noexcept;

/// The name of a call that reports need and the thread that writes them may not make, or nullptr.
/// Precondition: a report is owed.
[[nodiscard]] const char* call_missing_for_reports() noexcept;

}  // namespace alloctap::run
