/// Loaded modules: images by VirtualQuery, export tables, symbols, the loader's list, and notices.
#pragma once

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include "alloctap/os/module_symbols.hpp"
#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/wide_path.hpp"

namespace alloctap::os {

/// Returns the headers of the image at `start`, which the loader has validated ("PE Format").
inline const IMAGE_NT_HEADERS& image_headers(std::uintptr_t start) noexcept {
  const auto& dos = *reinterpret_cast<const IMAGE_DOS_HEADER*>(start);
  return *reinterpret_cast<const IMAGE_NT_HEADERS*>(start +
                                                    static_cast<std::uintptr_t>(dos.e_lfanew));
}

/// Uses VirtualQuery, because loader functions take the loader lock. An image begins at the start
/// of its allocation.
inline LoadedModule find_module(std::uintptr_t address) noexcept {
  MEMORY_BASIC_INFORMATION region;
  const auto* const place = reinterpret_cast<const void*>(address);
  if (::VirtualQuery(place, &region, sizeof region) == 0) return {};
  if (region.State != MEM_COMMIT || region.Type != MEM_IMAGE) return {};
  LoadedModule module{.start = reinterpret_cast<std::uintptr_t>(region.AllocationBase)};
  const auto& optional = image_headers(module.start).OptionalHeader;
  module.end = module.start + optional.SizeOfImage;
  const auto& tables = optional.DataDirectory[IMAGE_DIRECTORY_ENTRY_EXCEPTION];
  if (tables.Size != 0) module.unwind_tables = module.start + tables.VirtualAddress;
  return module;
}

/// Export table of a module that stays loaded. Reads the mapped image ("PE Format", "The .edata
/// Section"), because the loader's functions may take the loader lock. Allocates nothing.
class ExportTable {
 public:
  /// Reads the table of the module at `start`. If `start` is 0, the table is empty.
  explicit ExportTable(std::uintptr_t start) noexcept : start_(start) {
    if (start == 0) return;
    const auto& directory =
        image_headers(start).OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_EXPORT];
    if (directory.Size == 0) return;
    const auto& table =
        *reinterpret_cast<const IMAGE_EXPORT_DIRECTORY*>(start + directory.VirtualAddress);
    functions_ = reinterpret_cast<const DWORD*>(start + table.AddressOfFunctions);
    names_ = reinterpret_cast<const DWORD*>(start + table.AddressOfNames);
    numbers_ = reinterpret_cast<const WORD*>(start + table.AddressOfNameOrdinals);
    count_ = table.NumberOfNames;
    forwards_ = directory.VirtualAddress;
    forwards_end_ = directory.VirtualAddress + directory.Size;
  }

  /// Returns the first name exported at `offset` from the module's start; nullptr if there is none.
  [[nodiscard]] const char* name_at(std::uintptr_t offset) const noexcept {
    for (DWORD i = 0; i < count_; ++i) {
      if (functions_[numbers_[i]] == offset) return name(i);
    }
    return nullptr;
  }

  /// Returns the address of the export `wanted`; 0 if undefined or forwarded to another library.
  [[nodiscard]] std::uintptr_t find(std::string_view wanted) const noexcept {
    for (DWORD i = 0; i < count_; ++i) {
      if (wanted != name(i)) continue;
      const DWORD offset = functions_[numbers_[i]];
      return offset >= forwards_ && offset < forwards_end_ ? 0 : start_ + offset;
    }
    return 0;
  }

 private:
  [[nodiscard]] const char* name(DWORD number) const noexcept {
    return reinterpret_cast<const char*>(start_ + names_[number]);
  }

  std::uintptr_t start_;
  const DWORD* functions_ = nullptr;
  const DWORD* names_ = nullptr;
  const WORD* numbers_ = nullptr;
  DWORD count_ = 0;
  DWORD forwards_ = 0;
  DWORD forwards_end_ = 0;
};

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

/// The size is from the function's unwind table entry; 0 for leaf functions without an entry.
inline FunctionSymbol find_function_symbol(const void* address) noexcept {
  const auto place = reinterpret_cast<std::uintptr_t>(address);
  const LoadedModule module = find_module(place);
  if (module.start == 0) return {};
  const std::uintptr_t offset = place - module.start;
  FunctionSymbol symbol{.name = ExportTable(module.start).name_at(offset)};
  if (symbol.name == nullptr) return {};
  DWORD64 base = 0;
  const auto* entry = ::RtlLookupFunctionEntry(place, &base, nullptr);
  if (entry != nullptr && entry->BeginAddress == offset) {
    symbol.bytes = entry->EndAddress - entry->BeginAddress;
  }
  return symbol;
}

}  // namespace alloctap::os

// Import slot of a function that is defined by ntdll.dll and no other library.
extern "C" const void* const __imp_NtClose;

namespace alloctap::os {

/// Returns the function `name` of ntdll.dll; 0 if undefined. Unlike `system_function`, does not
/// call the loader; takes no lock and allocates nothing.
inline std::uintptr_t find_system_function(std::string_view name) noexcept {
  const auto inside = reinterpret_cast<std::uintptr_t>(__imp_NtClose);
  return ExportTable(find_module(inside).start).find(name);
}

inline constexpr bool kLoaderGivesNotice = true;

/// LDR_DLL_NOTIFICATION_DATA, whose layout is equal for both reasons, loading and unloading.
struct DllNotification {
  ULONG flags;
  const UNICODE_STRING* full_name;
  const UNICODE_STRING* base_name;
  void* start;
  ULONG bytes;
};

using DllListener = void CALLBACK(ULONG reason, const DllNotification* what, void* context);

/// Passes on notices of LdrRegisterDllNotification, which exists since Windows Vista, but in no
/// header. Windows reports a loaded module before its imports are bound, and an unloaded module
/// after the last call into it, before it is unmapped.
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

/// A module in the loader's list. May be in the process of loading or unloading.
struct LoaderModule {
  std::uintptr_t start = 0;
  /// Valid during the visit.
  std::wstring_view path;
};

/// Calls `visit(const LoaderModule&)` for each module in load order. Holds the loader lock, so no
/// module is unloaded meanwhile. `visit` must not call the loader or malloc, or wait for a thread
/// that may call them. Returns false if this version of Windows does not provide the list. Control
/// plane.
template <class Visit>
bool visit_loader_modules(Visit&& visit) noexcept {
  using Callback = void NTAPI(const LDR_DATA_TABLE_ENTRY*, void* context, BOOLEAN* stop);
  using Enumerate = NTSTATUS NTAPI(ULONG, Callback*, void* context);
  auto* const enumerate = system_function<Enumerate>("LdrEnumerateLoadedModules");
  if (enumerate == nullptr) return false;
  Callback* const call = [](const LDR_DATA_TABLE_ENTRY* entry, void* context, BOOLEAN* stop) {
    const UNICODE_STRING& name = entry->FullDllName;
    const std::wstring_view path(name.Buffer, name.Buffer == nullptr ? 0 : name.Length / 2U);
    (*static_cast<std::remove_reference_t<Visit>*>(context))(
        LoaderModule{.start = reinterpret_cast<std::uintptr_t>(entry->DllBase), .path = path});
    *stop = FALSE;
  };
  return enumerate(0, call, &visit) >= 0;
}

}  // namespace alloctap::os
