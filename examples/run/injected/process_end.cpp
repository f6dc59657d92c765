#include "process_end.hpp"

#include <alloctap/guard/arena.hpp>
#include <alloctap/hook/function_patch.hpp>
#include <alloctap/hook/windows_system_function.hpp>
#include <alloctap/os/windows/address_space.hpp>
#include <new>
#include <utility>

#include "report_thread.hpp"

namespace alloctap::run {
namespace {

using ExitProcessFunction = void NTAPI(NTSTATUS);
using TerminateProcessFunction = NTSTATUS NTAPI(HANDLE, NTSTATUS);

constinit ExitProcessFunction* exit_process = nullptr;
constinit TerminateProcessFunction* terminate_process = nullptr;

void NTAPI report_and_exit(NTSTATUS status) {
  settle_report();
  exit_process(status);
}

NTSTATUS NTAPI report_and_terminate(HANDLE process, NTSTATUS status) {
  // Null means all threads but the calling one: on the way of an exit, behind its report.
  if (process != nullptr && os::is_this_process(process)) settle_report_elsewhere();
  return terminate_process(process, status);
}

/// The patch lasts as long as the process.
template <class Function>
absl::Status replace(const char* name, Function* replacement, Function*& original) {
  auto patch =
      FunctionPatch::prepare(find_system_target(name), reinterpret_cast<const void*>(replacement));
  if (!patch.ok()) return patch.status();
  original = patch->original(replacement);
  if (absl::Status status = patch->enable(); !status.ok()) return status;
  void* const place = Arena::allocate(sizeof(FunctionPatch));
  if (place == nullptr) return absl::ResourceExhaustedError("the system has no memory");
  ::new (place) FunctionPatch(*std::move(patch));
  return absl::OkStatus();
}

}  // namespace

absl::Status watch_the_end() {
  absl::Status status = replace("RtlExitUserProcess", &report_and_exit, exit_process);
  status.Update(replace("NtTerminateProcess", &report_and_terminate, terminate_process));
  return status;
}

}  // namespace alloctap::run
