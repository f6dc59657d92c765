/// The loader's list of modules.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/module_notices.hpp"

namespace alloctap::os {

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
