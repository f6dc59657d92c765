#include "windows/injection.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cwchar>
#include <vector>

#include "alloctap/message_text.hpp"
#include "alloctap/os/windows/api.hpp"
#include "alloctap/status.hpp"
#include "windows/windows_failure.hpp"
// After windows.h.
#include <psapi.h>

namespace alloctap::run {
namespace {

Status last_error(const char* what) { return system_failure(::GetLastError(), what); }

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
Status why_not_loaded(const std::wstring& path) {
  constexpr char kWhat[] = "the tracker's library cannot be loaded into the program";
  const HMODULE file = ::LoadLibraryExW(path.c_str(), nullptr, LOAD_LIBRARY_AS_IMAGE_RESOURCE);
  if (file == nullptr) return last_error(kWhat);
  ::FreeLibrary(file);
  return Status::permission_denied(
      kWhat,
      ": Windows refused it there; the program's policies may forbid libraries that are not ",
      "signed, or security software may stand in between");
}

Result<std::uint32_t> call_in_process(HANDLE process, void* function, void* argument) {
  const os::Handle thread(::CreateRemoteThread(process, nullptr, 0,
                                               reinterpret_cast<LPTHREAD_START_ROUTINE>(function),
                                               argument, 0, nullptr));
  if (!thread) return last_error("cannot start a thread in the program");
  const HANDLE either[] = {thread.get(), process};
  ::WaitForMultipleObjects(2, either, FALSE, INFINITE);
  DWORD code = 0;
  if (::WaitForSingleObject(process, 0) != WAIT_OBJECT_0) {
    ::GetExitCodeThread(thread.get(), &code);
    return code;
  }
  ::GetExitCodeProcess(process, &code);
  return Status::unavailable("the program ended while it was loaded (exit code 0x", hex_text(code),
                             ")");
}

}  // namespace

Status load_library_into(HANDLE process, const std::wstring& path) {
  const RemoteText text(process, path);
  if (!text.written()) return last_error("cannot write to the program's memory");
  // kernel32.dll lies at the same address in all processes of one kind, until the next start.
  const HMODULE system = ::GetModuleHandleW(L"kernel32.dll");
  void* const load = reinterpret_cast<void*>(::GetProcAddress(system, "LoadLibraryW"));
  const auto called = call_in_process(process, load, text.address());
  if (!called.ok()) return called.status();
  return find_module(process, path) != nullptr ? Status() : why_not_loaded(path);
}

Result<std::uint32_t> call_library_in(HANDLE process, const std::wstring& path,
                                      const char* function, const std::string& text) {
  const RemoteText argument(process, text);
  if (!argument.written()) return last_error("cannot write to the program's memory");
  const HMODULE module = find_module(process, path);
  const std::size_t offset = offset_of(path, function);
  if (module == nullptr || offset == 0) {
    return Status::internal("the tracker's library has no ", function, "; install alloctap again");
  }
  return call_in_process(process, reinterpret_cast<char*>(module) + offset, argument.address());
}

}  // namespace alloctap::run
