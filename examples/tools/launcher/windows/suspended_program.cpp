#include "launcher/windows/suspended_program.hpp"

#include <utility>

#include "alloctap/os/windows/api.hpp"
#include "alloctap/status.hpp"
#include "windows/injection.hpp"
#include "windows/windows_failure.hpp"

namespace alloctap::run {
namespace {

Status last_error(const char* what) { return system_failure(::GetLastError(), what); }

/// Processes in it end when its last handle is closed; those that they start are not in it.
os::Handle make_job() {
  os::Handle job(::CreateJobObjectW(nullptr, nullptr));
  JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits{};
  limits.BasicLimitInformation.LimitFlags =
      JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | JOB_OBJECT_LIMIT_SILENT_BREAKAWAY_OK;
  ::SetInformationJobObject(job.get(), JobObjectExtendedLimitInformation, &limits, sizeof limits);
  return job;
}

}  // namespace

Result<SuspendedProgram> SuspendedProgram::start(const std::wstring& path,
                                                 std::wstring command_line) {
  STARTUPINFOW startup{};
  startup.cb = sizeof startup;
  PROCESS_INFORMATION made{};
  if (::CreateProcessW(path.c_str(), command_line.data(), nullptr, nullptr, TRUE, CREATE_SUSPENDED,
                       nullptr, nullptr, &startup, &made) == 0) {
    return last_error("the program cannot be started");
  }
  os::Handle job = make_job();
  // Without it the program runs on where the launcher is killed, and that is all.
  ::AssignProcessToJobObject(job.get(), made.hProcess);
  return SuspendedProgram(std::move(job), os::Handle(made.hProcess), os::Handle(made.hThread),
                          made.dwProcessId);
}

SuspendedProgram::~SuspendedProgram() {
  if (thread_) ::TerminateProcess(process_.get(), 1);
}

Status SuspendedProgram::load_library(const std::wstring& path) {
  return load_library_into(process_.get(), path);
}

Result<std::uint32_t> SuspendedProgram::call_library(const std::wstring& path, const char* function,
                                                     const std::string& text) {
  return call_library_in(process_.get(), path, function, text);
}

Result<std::uint32_t> SuspendedProgram::run() {
  if (::ResumeThread(thread_.get()) == static_cast<DWORD>(-1)) {
    return last_error("the program cannot be let run");
  }
  const os::Handle running = std::move(thread_);
  ::WaitForSingleObject(process_.get(), INFINITE);
  DWORD code = 0;
  ::GetExitCodeProcess(process_.get(), &code);
  return code;
}

}  // namespace alloctap::run
