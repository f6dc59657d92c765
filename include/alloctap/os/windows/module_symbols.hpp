#pragma once

#include <cstdint>

#include "alloctap/os/find_module.hpp"
#include "alloctap/os/module_symbols.hpp"
#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/utf8.hpp"
#include "alloctap/os/windows/wide_path.hpp"

namespace alloctap::os {

inline void* exported_symbol(HMODULE module, const char* name) noexcept {
  return module == nullptr ? nullptr : reinterpret_cast<void*>(::GetProcAddress(module, name));
}

/// Searches the program, then the system libraries that define allocation functions. Windows has no
/// process-wide lookup order, because programs import each name from a named library.
inline void* default_symbol(const char* name) noexcept {
  constexpr const wchar_t* kModules[] = {nullptr,      L"ucrtbase.dll",   L"msvcrt.dll",
                                         L"ntdll.dll", L"kernelbase.dll", L"kernel32.dll",
                                         L"ole32.dll"};
  for (const wchar_t* module : kModules) {
    void* const symbol = exported_symbol(::GetModuleHandleW(module), name);
    if (symbol != nullptr) return symbol;
  }
  return nullptr;
}

inline void* symbol_seen_by(const char* path, const char* name) noexcept {
  if (path == nullptr) return exported_symbol(::GetModuleHandleW(nullptr), name);
  return exported_symbol(::GetModuleHandleW(WidePath(path).c_str()), name);
}

inline bool pin_module(const void* code) noexcept {
  HMODULE module = nullptr;
  // The program is never unloaded, and this check takes no loader lock.
  const auto start = find_module(reinterpret_cast<std::uintptr_t>(code)).start;
  if (start == reinterpret_cast<std::uintptr_t>(::GetModuleHandleW(nullptr))) return true;
  constexpr DWORD kPin = GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS;
  return ::GetModuleHandleExW(kPin, static_cast<const wchar_t*>(code), &module) != 0;
}

}  // namespace alloctap::os
