/// Backend that patches import address table slots for ntdll.dll's functions (Windows).
#pragma once

#include <cstdint>
#include <string_view>

#include "alloctap/hook/hook_backend.hpp"
#include "alloctap/hook/windows/entry_points.hpp"
#include "alloctap/hook/windows/import_engine.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// Backend for processes that forbid changing code. All allocation APIs end in a library's call of
/// ntdll.dll (`functions.hpp`), through a slot of the library's import address table. This backend
/// stores handlers in the ntdll.dll slots of all modules, including the program's and the
/// tracker's. A module loaded later is hooked before its DllMain runs, if the system binds the
/// module's imports before its load notification; otherwise when LoadLibrary returns.
/// GetProcAddress also returns handlers while the hook is installed. Calls inside ntdll.dll use no
/// slot and are not seen.
///
/// `uninstall` restores slots that still hold a handler. The module with the handlers is never
/// unloaded, because threads may be in a handler, or may call it at an address from GetProcAddress.
///
/// Control plane. All functions wait for the loader lock, so call none from DllMain, or while a
/// DllMain waits for the caller. `refresh` and `report` are thread-safe.
struct WindowsImportHook {
  static constexpr std::string_view name = "windows-imports";
  static constexpr HookCapabilities capabilities{
      .target = HookTarget::kProcessAllocator,
      .owns_every_free = false,
      .may_refuse = true,
      .sees_later_modules = true,
      .sees_mappings = true,
      .misses_allocations = true,
      .blind_spots =
          "calls that ntdll.dll makes in itself (the loader, heaps that grow, thread pools), "
          "addresses that were told by GetProcAddress before the start, slots that are bound late "
          "and were not called before the last refresh, modules that bring system calls of their "
          "own, stacks of threads",
  };

  /// Hooks slots that the loader bound, and modules that it loaded, since the last walk. Needed for
  /// delay-loaded imports, and for modules loaded without LoadLibrary.
  static void refresh() noexcept { WindowsImportEngine::refresh(); }

  /// Returns how many slots of each module are hooked now, and why slots are not hooked.
  [[nodiscard]] static ImportReport report() { return WindowsImportEngine::report(); }

  template <EventSink Sink>
  static Status install() {
    PltTargets& targets = WindowsImportEngine::targets();
    targets.clear();
    bool fits = WindowsLoaderCalls::add_to(targets);
    WindowsFunctions::for_each([&](auto function) {
      using Function = decltype(function);
      const auto handler = reinterpret_cast<std::uintptr_t>(&WindowsEntry<Function, Sink>::call);
      fits = fits && targets.add({.name = Function::name,
                                  .handler = handler,
                                  .publish = &WindowsOriginals<Sink>::template set<Function>});
    });
    if (!fits) return Status::internal("WindowsImportHook: no room for all functions");
    stop_ = []() noexcept { WindowsOriginals<Sink>::set_recording(false); };
    WindowsOriginals<Sink>::set_recording(true);
    Status status = WindowsImportEngine::install();
    if (!status.ok()) stop_();
    return status;
  }

  static void uninstall() noexcept {
    if (stop_ == nullptr) return;
    WindowsImportEngine::uninstall();
    stop_();
  }

 private:
  using Stop = void (*)() noexcept;
  static inline constinit Stop stop_ = nullptr;
};

static_assert(HookBackend<WindowsImportHook>);

}  // namespace alloctap
