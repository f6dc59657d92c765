#include "child_processes.hpp"

#include <alloctap/os/windows/api.hpp>
#include <alloctap/os/windows/thread_local.hpp>
#include <alloctap/runtime/reentrancy_guard.hpp>
#include <exception>
#include <string>
#include <string_view>

#include "alloctap/message_text.hpp"
#include "alloctap/status.hpp"
#include "lasting_patch.hpp"
#include "launcher/failure.hpp"
#include "launcher/path_text.hpp"
#include "preload/final_report.hpp"
#include "windows/injection.hpp"
#include "windows/program_image.hpp"

namespace alloctap::run {
namespace {

/// What CreateProcessA and CreateProcessW, and by them the C library and the shell, end in. Its
/// first and last arguments are a token to run as, and one that nobody asks for.
using CreateProcessFunction = BOOL WINAPI(HANDLE, LPCWSTR, LPWSTR, LPSECURITY_ATTRIBUTES,
                                          LPSECURITY_ATTRIBUTES, BOOL, DWORD, LPVOID, LPCWSTR,
                                          LPSTARTUPINFOW, LPPROCESS_INFORMATION, PHANDLE);

constinit CreateProcessFunction* create_process = nullptr;
/// Made once, for as long as the process lives.
constinit const std::string* settings_of_children = nullptr;

std::wstring long_text() { return std::wstring(32768, L'\0'); }

std::wstring path_of_this_library() {
  HMODULE self = nullptr;
  ::GetModuleHandleExW(
      GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
      reinterpret_cast<LPCWSTR>(&settings_of_children), &self);
  std::wstring path = long_text();
  path.resize(::GetModuleFileNameW(self, path.data(), static_cast<DWORD>(path.size())));
  return path;
}

std::wstring path_of_program(HANDLE process) {
  std::wstring path = long_text();
  auto length = static_cast<DWORD>(path.size());
  path.resize(::QueryFullProcessImageNameW(process, 0, path.data(), &length) != 0 ? length : 0);
  return path;
}

Status track(HANDLE process, bool is_debugged) {
  if (is_debugged) {
    return Status::failed_precondition(
        "its parent debugs it, and would have to let it load a library");
  }
  const std::wstring program = path_of_program(process);
  Status status = check_program_image(program, in_quotes(text_of(program)));
  if (!status.ok()) return status;
  const std::wstring library = path_of_this_library();
  status = load_library_into(process, library);
  if (!status.ok()) return status;
  return call_library_in(process, library, "alloctap_run_start", *settings_of_children).status();
}

void track_or_say_why(const PROCESS_INFORMATION& child, bool is_debugged) noexcept {
  try {
    const Status status = track(child.hProcess, is_debugged);
    if (status.ok()) return;
    const std::string line =
        join_text("child process ", child.dwProcessId, " is not tracked: ", status.message());
    print_line(line);
  } catch (const std::exception&) {
    print_line("a child process is not tracked: there is no memory");
  }
}

BOOL WINAPI create_tracked(HANDLE token, LPCWSTR name, LPWSTR command_line,
                           LPSECURITY_ATTRIBUTES process_security,
                           LPSECURITY_ATTRIBUTES thread_security, BOOL inherits, DWORD flags,
                           LPVOID environment, LPCWSTR directory, LPSTARTUPINFOW startup,
                           LPPROCESS_INFORMATION made, PHANDLE new_token) {
  const BOOL done =
      create_process(token, name, command_line, process_security, thread_security, inherits,
                     flags | CREATE_SUSPENDED, environment, directory, startup, made, new_token);
  if (done == 0 || made == nullptr || made->hProcess == nullptr) return done;
  const os::ErrnoGuard error;
  const UseInternalArena own;
  track_or_say_why(*made, (flags & (DEBUG_PROCESS | DEBUG_ONLY_THIS_PROCESS)) != 0);
  if ((flags & CREATE_SUSPENDED) == 0) ::ResumeThread(made->hThread);
  return done;
}

}  // namespace

Status follow_children(std::string_view settings) {
  settings_of_children = new std::string(settings);
  const HMODULE system = ::GetModuleHandleW(L"kernelbase.dll");
  const PatchTarget target{
      .address = reinterpret_cast<void*>(::GetProcAddress(system, "CreateProcessInternalW")),
      .modules_stay = true};
  const Status status = patch_for_good(target, &create_tracked, create_process);
  if (status.ok()) return status;
  return {status.code(), join_text("child processes are not tracked: ", status.message())};
}

}  // namespace alloctap::run
