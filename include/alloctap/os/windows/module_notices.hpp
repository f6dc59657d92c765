/// Module notices by LdrRegisterDllNotification, since Windows Vista ("LdrRegisterDllNotification
/// function"), which no header declares. Windows reports a loaded module before its imports are
/// bound, and an unloaded one after its last call and before it is unmapped.
#pragma once

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>

#include "alloctap/os/module_notices.hpp"
#include "alloctap/os/module_symbols.hpp"
#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/utf8.hpp"
#include "alloctap/os/windows/wide_path.hpp"

namespace alloctap::os {

inline constexpr bool kLoaderGivesNotice = true;

/// LDR_DLL_NOTIFICATION_DATA, whose layout is equal for both reasons.
struct DllNotification {
  ULONG flags;
  const UNICODE_STRING* full_name;
  const UNICODE_STRING* base_name;
  void* start;
  ULONG bytes;
};

using DllListener = void CALLBACK(ULONG reason, const DllNotification* what, void* context);

struct ModuleNoticeCall {
  static void CALLBACK pass_on(ULONG reason, const DllNotification* what, void* context) {
    constexpr ULONG kLoaded = 1;
    const auto start = reinterpret_cast<std::uintptr_t>(what->start);
    // Longer paths are omitted, because a truncated path names another file.
    std::array<char, 1024> buffer;
    const ModuleNotice notice{
        .what = reason == kLoaded ? ModuleNotice::What::kLoaded : ModuleNotice::What::kUnloading,
        .start = start,
        .end = start + what->bytes,
        .path = path_of(*what, buffer)};
    static_cast<const ModuleNotices*>(context)->listener_(notice);
  }

 private:
  static std::string_view path_of(const DllNotification& what, std::span<char> buffer) noexcept {
    if (what.full_name == nullptr || what.full_name->Buffer == nullptr) return {};
    std::wstring_view name(what.full_name->Buffer, what.full_name->Length / sizeof(wchar_t));
    for (const std::wstring_view prefix : {L"\\\\?\\", L"\\??\\"}) {
      if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
    }
    // A UTF-16 unit takes at most three bytes of UTF-8.
    if (name.size() * 3 > buffer.size()) return {};
    const std::string_view path = to_utf8(name, buffer);
    use_slashes(buffer.first(path.size()));
    return path;
  }
};

/// Returns the function `name` of ntdll.dll; nullptr if this Windows lacks it.
template <class Function>
Function* system_function(const char* name) noexcept {
  const HMODULE system = ::GetModuleHandleW(L"ntdll.dll");
  return reinterpret_cast<Function*>(reinterpret_cast<void*>(::GetProcAddress(system, name)));
}

inline int ModuleNotices::start() noexcept {
  using Register = NTSTATUS NTAPI(ULONG, DllListener*, void*, void**);
  auto* const enlist = system_function<Register>("LdrRegisterDllNotification");
  if (enlist == nullptr) return -ENOSYS;
  pin_module(reinterpret_cast<const void*>(listener_));
  return enlist(0, &ModuleNoticeCall::pass_on, this, &registration_) >= 0 ? 0 : -ENOMEM;
}

inline void ModuleNotices::stop() noexcept {
  using Unregister = NTSTATUS NTAPI(void*);
  auto* const strike = system_function<Unregister>("LdrUnregisterDllNotification");
  if (registration_ == nullptr || strike == nullptr) return;
  strike(registration_);
  registration_ = nullptr;
}

}  // namespace alloctap::os
