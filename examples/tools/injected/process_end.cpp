#include "process_end.hpp"

#include <alloctap/hook/windows/system_function.hpp>
#include <alloctap/os/windows/virtual_memory.hpp>
#include <cstdint>

#include "alloctap/status.hpp"
#include "lasting_patch.hpp"
#include "preload/final_report.hpp"
#include "preload/tracker_calls.hpp"
#include "report_thread.hpp"

namespace alloctap::run {
namespace {

using ExitProcessFunction = void NTAPI(NTSTATUS);
using TerminateProcessFunction = NTSTATUS NTAPI(HANDLE, NTSTATUS);

constinit ExitProcessFunction* exit_process = nullptr;
constinit TerminateProcessFunction* terminate_process = nullptr;

/// What Windows ends a process with that died of an exception.
bool is_error(NTSTATUS status) noexcept { return static_cast<std::uint32_t>(status) >> 30 == 3; }

void NTAPI report_and_exit(NTSTATUS status) {
  settle_report();
  exit_process(code_of_errors(status));
}

NTSTATUS NTAPI report_and_terminate(HANDLE process, NTSTATUS status) {
  // Null means all threads but the calling one: on the way of an exit, behind its report.
  if (process == nullptr || !os::is_this_process(process)) {
    return terminate_process(process, status);
  }
  settle_report_elsewhere();
  return terminate_process(process, is_error(status) ? status : code_of_errors(status));
}

}  // namespace

Status watch_the_end() {
  Status status =
      patch_for_good(find_system_target("RtlExitUserProcess"), &report_and_exit, exit_process);
  status.update(patch_for_good(find_system_target("NtTerminateProcess"), &report_and_terminate,
                               terminate_process));
  return status;
}

}  // namespace alloctap::run
