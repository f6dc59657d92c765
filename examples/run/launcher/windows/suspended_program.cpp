#include "launcher/windows/suspended_program.hpp"

#include <algorithm>
#include <cwchar>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "alloctap/os/windows/api.hpp"
#include "launcher/windows/windows_failure.hpp"
// After windows.h.
#include <psapi.h>

namespace alloctap::run {
namespace {

absl::Status last_error(const char* what) { return system_failure(::GetLastError(), what); }

/// Processes in it end when its last handle is closed; those that they start are not in it.
os::Handle make_job() {
  os::Handle job(::CreateJobObjectW(nullptr, nullptr));
  JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits{};
  limits.BasicLimitInformation.LimitFlags =
      JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | JOB_OBJECT_LIMIT_SILENT_BREAKAWAY_OK;
  ::SetInformationJobObject(job.get(), JobObjectExtendedLimitInformation, &limits, sizeof limits);
  return job;
}

/// Memory of another process; given back with this, or with the process.
class RemoteText {
 public:
  template <class Text>
  RemoteText(HANDLE process, const Text& text) : process_(process) {
    const std::size_t bytes = (text.size() + 1) * sizeof(text[0]);
    address_ = ::VirtualAllocEx(process, nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
    written_ = address_ != nullptr &&
               ::WriteProcessMemory(process, address_, text.c_str(), bytes, nullptr) != 0;
  }
  RemoteText(const RemoteText&) = delete;
  RemoteText& operator=(const RemoteText&) = delete;
  ~RemoteText() {
    if (address_ != nullptr) ::VirtualFreeEx(process_, address_, 0, MEM_RELEASE);
  }

  [[nodiscard]] bool written() const noexcept { return written_; }
  [[nodiscard]] void* address() const noexcept { return address_; }

 private:
  HANDLE process_;
  void* address_ = nullptr;
  bool written_ = false;
};

/// Where the library at `path` lies in that process; nullptr where it does not. What LoadLibrary
/// returned there does not fit into the exit code of a thread.
HMODULE find_module(HANDLE process, const std::wstring& path) {
  std::vector<HMODULE> modules(1024);
  DWORD bytes = 0;
  const auto room = static_cast<DWORD>(modules.size() * sizeof(HMODULE));
  if (::K32EnumProcessModules(process, modules.data(), room, &bytes) == 0) return nullptr;
  modules.resize(std::min<std::size_t>(bytes / sizeof(HMODULE), modules.size()));
  std::wstring name(path.size() + 1, L'\0');
  const auto found = std::find_if(modules.begin(), modules.end(), [&](HMODULE module) {
    const DWORD length =
        ::K32GetModuleFileNameExW(process, module, name.data(), static_cast<DWORD>(name.size()));
    return length == path.size() && ::_wcsnicmp(name.c_str(), path.c_str(), length) == 0;
  });
  return found == modules.end() ? nullptr : *found;
}

/// How far behind the start of its module an export lies.
std::size_t offset_of(const std::wstring& path, const char* function) {
  const HMODULE module = ::LoadLibraryExW(path.c_str(), nullptr, DONT_RESOLVE_DLL_REFERENCES);
  if (module == nullptr) return 0;
  void* const address = reinterpret_cast<void*>(::GetProcAddress(module, function));
  const auto start = reinterpret_cast<std::uintptr_t>(module);
  const std::size_t offset =
      address == nullptr ? 0 : reinterpret_cast<std::uintptr_t>(address) - start;
  ::FreeLibrary(module);
  return offset;
}

/// The reason is the other process's and gone: as near as can be said from here.
absl::Status why_not_loaded(const std::wstring& path) {
  constexpr char kWhat[] = "the tracker's library cannot be loaded into the program";
  const HMODULE file = ::LoadLibraryExW(path.c_str(), nullptr, LOAD_LIBRARY_AS_IMAGE_RESOURCE);
  if (file == nullptr) return last_error(kWhat);
  ::FreeLibrary(file);
  return absl::PermissionDeniedError(absl::StrCat(
      kWhat,
      ": Windows refused it there; the program's policies may forbid libraries that are not ",
      "signed, or security software may stand in between"));
}

}  // namespace

absl::StatusOr<SuspendedProgram> SuspendedProgram::start(const std::wstring& path,
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

absl::Status SuspendedProgram::load_library(const std::wstring& path) {
  const RemoteText text(process_.get(), path);
  if (!text.written()) return last_error("cannot write to the program's memory");
  // kernel32.dll lies at the same address in all processes of one kind, until the next start.
  const HMODULE system = ::GetModuleHandleW(L"kernel32.dll");
  void* const load = reinterpret_cast<void*>(::GetProcAddress(system, "LoadLibraryW"));
  const auto called = call_in_program(load, text.address());
  if (!called.ok()) return called.status();
  return find_module(process_.get(), path) != nullptr ? absl::OkStatus() : why_not_loaded(path);
}

absl::StatusOr<std::uint32_t> SuspendedProgram::call_library(const std::wstring& path,
                                                             const char* function,
                                                             const std::string& text) {
  const RemoteText argument(process_.get(), text);
  if (!argument.written()) return last_error("cannot write to the program's memory");
  const HMODULE module = find_module(process_.get(), path);
  const std::size_t offset = offset_of(path, function);
  if (module == nullptr || offset == 0) {
    return absl::InternalError(
        absl::StrCat("the tracker's library has no ", function, "; install alloctap again"));
  }
  return call_in_program(reinterpret_cast<char*>(module) + offset, argument.address());
}

absl::StatusOr<std::uint32_t> SuspendedProgram::call_in_program(void* function,
                                                                void* argument) const {
  const os::Handle thread(::CreateRemoteThread(process_.get(), nullptr, 0,
                                               reinterpret_cast<LPTHREAD_START_ROUTINE>(function),
                                               argument, 0, nullptr));
  if (!thread) return last_error("cannot start a thread in the program");
  const HANDLE either[] = {thread.get(), process_.get()};
  ::WaitForMultipleObjects(2, either, FALSE, INFINITE);
  DWORD code = 0;
  if (::WaitForSingleObject(process_.get(), 0) != WAIT_OBJECT_0) {
    ::GetExitCodeThread(thread.get(), &code);
    return code;
  }
  ::GetExitCodeProcess(process_.get(), &code);
  return absl::UnavailableError(
      absl::StrCat("the program ended while it was loaded (exit code 0x", absl::Hex(code), ")"));
}

absl::StatusOr<std::uint32_t> SuspendedProgram::run() {
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
