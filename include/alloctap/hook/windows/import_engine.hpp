/// Engine of `WindowsImportHook`, and its handlers of the functions that load modules.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "alloctap/hook/plt/target.hpp"
#include "alloctap/hook/windows/import_pass.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/message_text.hpp"
#include "alloctap/os/module_symbols.hpp"
#include "alloctap/os/thread_local.hpp"
#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/module_symbols.hpp"
#include "alloctap/os/windows/wide_path.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/runtime/text_pool.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// Functions that the handlers call in addition to the originals.
struct WindowsLoaderCallbacks {
  /// Returns the handler of the function at `address`, or `address` if it is not hooked.
  std::uintptr_t (*handler_of)(std::uintptr_t address) noexcept = nullptr;
  /// Called after a call that may have loaded a module.
  void (*loaded)() noexcept = nullptr;
};

/// Handlers of LdrLoadDll, which LoadLibrary calls, and of the function that GetProcAddress calls:
/// on Windows 10 and 11 LdrGetProcedureAddressForCaller, elsewhere LdrGetProcedureAddress. Calls by
/// the tracker pass through.
class WindowsLoaderCalls {
 public:
  /// `callbacks` must have static storage duration. If it is nullptr, all calls pass through.
  static void set(const WindowsLoaderCallbacks* callbacks) noexcept {
    callbacks_.store(callbacks, std::memory_order_release);
  }

  /// Adds the loader's functions to `targets`. Returns false if `targets` is full.
  [[nodiscard]] static bool add_to(PltTargets& targets) noexcept {
    return targets.add(describe<load_>("LdrLoadDll", &load)) &&
           targets.add(describe<find_>("LdrGetProcedureAddress", &find)) &&
           targets.add(describe<find_for_>("LdrGetProcedureAddressForCaller", &find_for));
  }

 private:
  using Load = NTSTATUS(void* path, ULONG* characteristics, const void* name, void** module);
  using Find = NTSTATUS(void* module, const void* name, ULONG number, void** address);
  using FindFor = NTSTATUS(void* module, const void* name, ULONG number, void** address,
                           ULONG flags, void** caller);

  /// Returns the callbacks, or nullptr if the tracker made the call.
  static const WindowsLoaderCallbacks* callbacks() noexcept {
    const bool is_own = this_thread_slot().depth.load(std::memory_order_relaxed) > 0;
    return is_own ? nullptr : callbacks_.load(std::memory_order_acquire);
  }

  /// Holds no `ReentrancyGuard`, because allocations in the module's DllMain are the program's.
  ALLOCTAP_NOINLINE static NTSTATUS load(void* path, ULONG* characteristics, const void* name,
                                         void** module) {
    const NTSTATUS status = original<Load>(load_)(path, characteristics, name, module);
    if (const auto* const now = callbacks(); now != nullptr) {
      const os::ErrnoGuard preserve_error;
      now->loaded();
    }
    return status;
  }

  ALLOCTAP_NOINLINE static NTSTATUS find(void* module, const void* name, ULONG number,
                                         void** address) {
    return answer(original<Find>(find_)(module, name, number, address), address);
  }

  ALLOCTAP_NOINLINE static NTSTATUS find_for(void* module, const void* name, ULONG number,
                                             void** address, ULONG flags, void** caller) {
    return answer(original<FindFor>(find_for_)(module, name, number, address, flags, caller),
                  address);
  }

  static NTSTATUS answer(NTSTATUS status, void** address) noexcept {
    const auto* const now = status >= 0 ? callbacks() : nullptr;
    if (now != nullptr) {
      const auto found = reinterpret_cast<std::uintptr_t>(*address);
      *address = reinterpret_cast<void*>(now->handler_of(found));
    }
    return status;
  }

  using Original = std::atomic<std::uintptr_t>;

  template <class Signature>
  static Signature* original(const Original& place) noexcept {
    return reinterpret_cast<Signature*>(place.load(std::memory_order_acquire));
  }

  template <Original& kOriginal, class Signature>
  static PltTarget describe(const char* name, Signature* handler) noexcept {
    return {.name = name,
            .handler = reinterpret_cast<std::uintptr_t>(handler),
            .publish = [](std::uintptr_t original) noexcept {
              kOriginal.store(original, std::memory_order_release);
            }};
  }

  static inline constinit std::atomic<const WindowsLoaderCallbacks*> callbacks_{nullptr};
  static inline constinit Original load_{0};
  static inline constinit Original find_{0};
  static inline constinit Original find_for_{0};
};

struct ImportModuleReport {
  std::string path;
  /// Number of slots that point to a handler.
  std::uint32_t hooked = 0;
  /// Number of slots that import a hooked function by name but do not point to a handler.
  std::uint32_t skipped = 0;
  /// Why slots were skipped, or why no slot is hooked; empty if all slots are hooked.
  std::string why;
};

struct ImportReport {
  std::vector<ImportModuleReport> modules;
  /// Warnings about slots and modules that are hooked late or not at all.
  std::vector<std::string> warnings;
  std::uint32_t hooked_slots = 0;
};

/// Result of a walk for one module. Does not own `path`.
struct ImportModule {
  std::string_view path;
  ImportCounts counts;
};

/// Returns why slots of a module are not hooked.
[[nodiscard]] inline std::string why_skipped(const ImportCounts& counts) {
  std::string why;
  const auto add = [&why](std::uint32_t count, const char* reason) {
    if (count > 0) append_text(why, join_text(why.empty() ? "" : "; ", count), " ", reason);
  };
  add(counts.foreign, "lead to another tool's hook");
  add(counts.unbound, "are bound when they are first called");
  add(counts.refused, "could not be made writable");
  if (why.empty() && counts.hooked == 0) why = "it imports none of the functions";
  return why;
}

/// Returns a report on `modules`, the result of a finished walk. Allocates.
[[nodiscard]] inline ImportReport make_import_report(const ArenaArray<ImportModule>& modules) {
  ImportReport report;
  for (const ImportModule& module : modules) {
    const ImportCounts& counts = module.counts;
    report.modules.push_back({.path = std::string(module.path),
                              .hooked = counts.hooked,
                              .skipped = counts.foreign + counts.unbound + counts.refused,
                              .why = why_skipped(counts)});
    report.hooked_slots += counts.hooked;
  }
  return report;
}

/// The part of `WindowsImportHook` that does not depend on the sink: finds originals and walks
/// import table slots.
///
/// Lock order: the loader lock, then the walk's own lock. A walk runs while the loader lists its
/// modules, or in a load notification. Memory is allocated in the tracker's arena, because a thread
/// that holds the loader lock may have to wait for a heap.
class WindowsImportEngine {
 public:
  /// Returns the functions to hook. The backend fills the table before `install`.
  static PltTargets& targets() noexcept { return targets_; }

  /// Hooks all modules. Requires the control lock. Waits for the loader lock.
  static Status install() {
    if (!os::pin_module(reinterpret_cast<const void*>(&refresh))) {
      return Status::failed_precondition(
          "WindowsImportHook: the loader does not know the module that this code is in, so it "
          "could "
          "be unloaded while threads are in it. Link it into the program or a DLL");
    }
    if (Status status = find_originals(); !status.ok()) return status;
    active_.store(true, std::memory_order_release);
    WindowsLoaderCalls::set(&kCallbacks);
    notices_work_ = notices_.start() == 0;
    const Walk walk = walk_all(ImportAction::kHook);
    for (const ImportModule& module : walk.modules) {
      if (module.counts.hooked > 0) return Status();
    }
    uninstall();
    return Status::failed_precondition(why_nothing(walk));
  }

  /// Hooks slots bound and modules loaded since the last walk. Waits for the loader lock.
  static void refresh() noexcept {
    if (!active_.load(std::memory_order_acquire)) return;
    const ReentrancyGuard guard;
    static_cast<void>(walk_all(ImportAction::kHook));
  }

  /// Restores the slots that still hold handlers. Requires the control lock.
  static void uninstall() noexcept {
    active_.store(false, std::memory_order_release);
    WindowsLoaderCalls::set(nullptr);
    notices_.stop();
    static_cast<void>(walk_all(ImportAction::kUnhook));
  }

  [[nodiscard]] static ImportReport report() {
    const ReentrancyGuard guard;
    ImportReport report = make_import_report(walk_all(ImportAction::kLook).modules);
    if (active_.load(std::memory_order_acquire) && !notices_work_) {
      report.warnings.emplace_back(
          "The system gives no notice of modules: those that are loaded later are hooked when "
          "LoadLibrary returns, so behind their DllMain");
    }
    return report;
  }

 private:
  /// Result of a walk. The modules' paths point into `paths`, which holds the loader's names in
  /// UTF-8.
  struct Walk {
    ArenaArray<ImportModule> modules;
    TextPool paths;
  };

  static Status find_originals() {
    const HMODULE system = ::GetModuleHandleW(L"ntdll.dll");
    for (PltTarget& target : targets_.all()) {
      target.original = reinterpret_cast<std::uintptr_t>(os::exported_symbol(system, target.name));
      if (target.original != 0) target.publish(target.original);
    }
    if (targets_.find("RtlAllocateHeap")->original != 0) return Status();
    return Status::failed_precondition(
        "WindowsImportHook: ntdll.dll exports no RtlAllocateHeap; is this Windows?");
  }

  static Walk walk_all(ImportAction action) noexcept {
    Walk walk;
    const ImportPass pass(targets_.all(), action);
    os::visit_loader_modules([&](const os::LoaderModule& module) {
      const ImportCounts counts = pass.run(module.start, active_);
      std::array<char, 1024> buffer;
      const std::string_view path = os::to_utf8(module.path, buffer);
      os::use_slashes(std::span(buffer).first(path.size()));
      static_cast<void>(walk.modules.push_back({.path = walk.paths.keep(path), .counts = counts}));
    });
    return walk;
  }

  /// Hooks a module before its DllMain runs. The module's imports are bound before the load
  /// notification, although the documentation says the opposite: certain for Wine, believed for
  /// Windows. Slots that are not bound yet are hooked when LoadLibrary returns.
  static void hook_new_module(const os::ModuleNotice& notice) noexcept {
    if (notice.what != os::ModuleNotice::What::kLoaded) return;
    const ReentrancyGuard guard;
    ImportPass(targets_.all(), ImportAction::kHook).run(notice.start, active_);
    loaded_.store(true, std::memory_order_release);
  }

  static void refresh_if_loaded() noexcept {
    const bool noticed = loaded_.exchange(false, std::memory_order_acq_rel);
    if (noticed || !notices_work_) refresh();
  }

  static std::uintptr_t handler_of(std::uintptr_t address) noexcept {
    for (const PltTarget& target : targets_.all()) {
      if (target.original == address) return target.handler;
    }
    return address;
  }

  static std::string why_nothing(const Walk& walk) {
    std::string why =
        join_text("WindowsImportHook: no slot was hooked in ", walk.modules.size(), " modules.");
    for (const ImportModuleReport& module : make_import_report(walk.modules).modules) {
      append_text(why, " ", module.path, ": ", module.why, ".");
    }
    return why;
  }

  static constexpr WindowsLoaderCallbacks kCallbacks{.handler_of = &handler_of,
                                                     .loaded = &refresh_if_loaded};

  static inline constinit PltTargets targets_;
  static inline constinit os::ModuleNotices notices_{&hook_new_module};
  static inline constinit bool notices_work_ = false;
  static inline constinit std::atomic<bool> active_{false};
  /// Whether a module was loaded since the last refresh.
  static inline constinit std::atomic<bool> loaded_{false};
};

}  // namespace alloctap
