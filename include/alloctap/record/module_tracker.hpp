/// Tracking of unloaded modules, so that stacks stay valid if addresses are reused.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "alloctap/os/module_symbols.hpp"
#include "alloctap/record/thread_stats_table.hpp"
#include "alloctap/stack/stack_table.hpp"
#include "alloctap/symbol/module_history.hpp"

namespace alloctap {

/// Distinguishes frames of unloaded modules from frames of later modules at the same addresses.
///
/// Stacks are raw addresses, recorded without regard to modules. When a module is unloaded, each
/// stack with addresses in that module is retired: lookups no longer find it, so an equal stack
/// gets a new id. A frame of a retired stack belongs to the first module that was unloaded at the
/// frame's address after the stack was interned. The frames are symbolized at unloading, while the
/// module's file exists.
///
/// If another thread records a stack between the unloading and `update`, that stack is attributed
/// to the old module. If the world cannot be stopped in time, nothing is retired.
///
/// If the loader gives notices, `update` is not needed. A notice retires stacks at once if the
/// control lock is free; otherwise the next report or the end of the session retires them. Frames
/// are symbolized only at that report or end.
///
/// Constant-initialized, never destroyed.
class ModuleTracker {
 public:
  /// References to other parts of the tracker.
  struct Tables {
    StackTable& stacks;
    ThreadStatsTable& threads;
    /// Modules named by loader notices; nullptr if the loader gives no notices. A pointer, because
    /// a large all-zero queue belongs in .bss.
    UnloadedModuleQueue* departed;
    /// Drops unwind data that the stack capture caches for unloaded code; nullptr if no cache.
    void (*forget_code)() noexcept;
    /// Symbolizes addresses in loaded modules.
    void (*symbolize)(std::span<const CodeAddress> addresses, Symbols& symbols) noexcept;
    /// Receives loader notices and calls `on_notice`.
    os::ModuleNotices::Listener listener;
  };

  constexpr explicit ModuleTracker(const Tables& tables) noexcept
      : tables_(tables), notices_(tables.listener) {}

  /// Finds modules unloaded since the last call. Call it before and after code that may unload
  /// modules. Control plane, not during a dump. Takes some tenths of a millisecond, more if it
  /// retires stacks.
  void update() noexcept;
  /// Like `update`; the caller holds the control lock.
  void update_locked() noexcept;

  /// Calls `update`, and drops cached unwind data for unloaded code.
  void on_modules_unloaded() noexcept;

  /// Retires and symbolizes stacks for which loader notices are pending. Requires the control lock.
  void settle_locked() noexcept;

  /// Subscribes to loader notices, if available. Control plane. The caller must not hold the
  /// control lock, because a thread that holds the loader's lock may wait for the control lock.
  void watch() noexcept;
  /// Unsubscribes from loader notices. The caller must not hold the control lock.
  void unwatch() noexcept;

  [[nodiscard]] const ModuleHistory& history() const noexcept { return history_; }

  /// Symbolizes by the config's symbolizer, but addresses in unloaded modules by the names saved at
  /// unloading. The addresses in unloaded modules must come last.
  void symbolize(std::span<const CodeAddress> addresses, Symbols& symbols) const noexcept;

  /// Handles a loader notice. Runs inside the loader.
  void on_notice(const os::ModuleNotice& notice) noexcept;

 private:
  static constexpr std::int64_t kNoticeTimeoutNs = 2'000'000;

  void forget_code() const noexcept {
    if (tables_.forget_code != nullptr) tables_.forget_code();
  }
  bool has_all_notices() noexcept;
  void retire_departed(std::int64_t timeout_ns) noexcept;
  void retire(const Module& module) noexcept;
  UnloadedModule* retire_stopped(const Module& module, StackId end) noexcept;
  UnloadedModule* retire_stacks(const Module& module, StackId end) noexcept;
  void add_addresses(const Module& module, StackId id,
                     ArenaArray<CodeAddress>& addresses) const noexcept;
  void name(UnloadedModule& unloaded) const noexcept;

  Tables tables_;
  ModuleHistory history_;
  os::ModuleNotices notices_;
  std::atomic<bool> gets_notices_{false};
  std::atomic<bool> rules_may_be_old_{false};
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/record/impl/module_tracker.hpp"
#endif
