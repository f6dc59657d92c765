/// Hooks the calls of heaps, pages and views on Windows in the slots through which modules call.
#pragma once

#include <cstdint>
#include <string_view>

#include "alloctap/hook/hook_backend.hpp"
#include "alloctap/hook/windows/entry_points.hpp"
#include "alloctap/hook/windows/import_engine.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// For processes that do not let code be changed. Whatever a program allocates with ends in some
/// library's call of ntdll.dll (`functions.hpp`), and that goes through a slot of the
/// library's import address table: the slots of all modules that hold one of these functions get a
/// handler, those of the program and of the module with the tracker included. Modules that are
/// loaded later are hooked before their DllMain where the system binds their imports first, and
/// otherwise when LoadLibrary returns. GetProcAddress answers with handlers, too, while the hook is
/// installed. What ntdll.dll calls in itself goes through no slot.
///
/// When the tracker stops, slots that still hold a handler hold again what they held before. The
/// module with the handlers is never unloaded: threads may be inside them, and addresses that
/// GetProcAddress told lead there for ever.
///
/// All functions belong to the control plane and wait for the loader's lock: none is to be called
/// from DllMain, or while a DllMain waits for the caller. `refresh` and `report` are thread-safe.
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

  /// Hooks what was loaded or bound since the last time: slots that are bound when they are first
  /// called (delay-loaded), or modules that came by other ways than LoadLibrary.
  static void refresh() noexcept { WindowsImportEngine::refresh(); }

  /// What is hooked now.
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
