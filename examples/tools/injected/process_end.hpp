/// The last report of a process, wherever its end comes from.
#pragma once

#include <alloctap/status.hpp>

namespace alloctap::run {

/// From now on the last report is written before the process ends: by ExitProcess, in which exit
/// and the return from main end, and by TerminateProcess on itself, in which exceptions that nobody
/// handles end. What another process, or the system's fast way of failing, ends is not noticed.
/// Patches two functions of ntdll.dll for that. Once; control plane.
[[nodiscard]] Status watch_the_end();

}  // namespace alloctap::run
