/// Patches LocalAlloc and GlobalAlloc and their relatives.
#pragma once

#include <cstdint>

#include "alloctap/event/block_checks.hpp"
#include "alloctap/hook/memory_regions.hpp"
#include "alloctap/hook/windows/local_calls.hpp"
#include "alloctap/hook/windows/local_functions.hpp"
#include "alloctap/hook/windows/originals.hpp"
#include "alloctap/hook/windows/patch_group.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/export_table.hpp"
#include "alloctap/runtime/no_destroy_lazy.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap {

/// Entry point of a patched function; see `WindowsEntry`.
template <class Function, class Sink, class Signature = typename Function::Signature>
struct WindowsLocalEntry;

template <class Function, class Sink, class Result, class... Arguments>
struct WindowsLocalEntry<Function, Sink, Result(Arguments...)> {
  ALLOCTAP_NOINLINE static Result call(Arguments... arguments) {
    using Calls = WindowsLocalCalls<WindowsOriginals<Sink>, Sink>;
    const CallOrigin origin = ALLOCTAP_CALL_ORIGIN();
    if constexpr (Function::role == LocalRole::kAllocate) {
      return Calls::template allocate<Function>(origin, arguments...);
    } else if constexpr (Function::role == LocalRole::kReallocate) {
      return Calls::template reallocate<Function>(origin, arguments...);
    } else if constexpr (Function::role == LocalRole::kFree) {
      return Calls::template deallocate<Function>(origin, arguments...);
    } else {
      return Calls::template find<Function>(arguments...);
    }
  }
};

/// Patches of `WindowsLocalFunctions`. They stay for ever, because live checked blocks must be
/// freed through them; the libraries are never unloaded. If any function cannot be patched, all
/// stay unpatched, and the heap hooks check the heap blocks that the system allocates.
class WindowsLocalPatches {
 public:
  /// Requires the control lock and patched heap functions. Waits for the loader lock.
  template <CheckingSink Sink>
  static void start() {
    if (is_started_) return;
    is_started_ = true;
    const ReentrancyGuard guard;
    WindowsPatchGroup& patches = patches_.get();
    if (!prepare<Sink>(patches) || !patches.enable()) return patches.clear();
    WindowsLocalCalls<WindowsOriginals<Sink>, Sink>::begin();
  }

 private:
  template <class Sink>
  static bool prepare(WindowsPatchGroup& patches) {
    const MemoryRegions regions = MemoryRegions::read();
    bool has_all = true;
    WindowsLocalFunctions::for_each([&](auto function) {
      using Function = decltype(function);
      const auto target = WindowsPatchGroup::target_at(find(Function::name), Function::name);
      has_all = has_all && target.bytes != 0;
      if (!has_all) return;
      auto* const handler = &WindowsLocalEntry<Function, Sink>::call;
      const std::uintptr_t original = patches.add(target, handler, regions);
      has_all = original != 0;
      if (has_all) WindowsOriginals<Sink>::template set<Function>(original);
    });
    return has_all;
  }

  /// Returns the function's address, or 0 if no library exports it.
  static std::uintptr_t find(const char* name) noexcept {
    for (const wchar_t* library : kLocalLibraries) {
      const auto module = reinterpret_cast<std::uintptr_t>(::GetModuleHandleW(library));
      const std::uintptr_t address = os::ExportTable(module).find(name);
      if (address != 0) return address;
    }
    return 0;
  }

  static inline constinit bool is_started_ = false;
  static inline constinit NoDestroyLazy<WindowsPatchGroup> patches_;
};

}  // namespace alloctap
