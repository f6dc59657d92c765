/// Keeps stacks valid when modules are unloaded and their addresses are reused.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "alloctap/os/module_notices.hpp"
#include "alloctap/record/thread_stats_table.hpp"
#include "alloctap/stack/stack_table.hpp"
#include "alloctap/symbol/module_history.hpp"
#include "alloctap/symbol/unloaded_module_queue.hpp"

namespace alloctap {

/// Distinguishes frames of unloaded modules from frames of modules loaded at their addresses later.
///
/// Stacks are raw addresses, recorded without regard to modules. When a module is unloaded, each
/// stack with addresses in it is retired: lookups no longer find it, and an equal stack gets a new
/// id. The module of a frame is then the first one unloaded after its stack was interned. Names of
/// the old frames are symbolized at once, while the file exists.
///
/// A stack that another thread records between the unloading and `update` is attributed to the old
/// module. Nothing is retired if a thread was stopped inside the tracker.
///
/// With loader notices `update` need not be called: stacks are retired at the notice if the control
/// lock is free. Otherwise, like symbolization, that happens at the next report or the end of the
/// session.
///
/// Constant-initialized, never destroyed.
class ModuleTracker {
 public:
  /// The dependencies on the tracker.
  struct Tables {
    StackTable& stacks;
    ThreadStatsTable& threads;
    /// nullptr if the loader gives no notice. Separate, because it is large and zero-initialized.
    UnloadedModuleQueue* departed;
    /// Drops the unwind data that the stack capture caches of unloaded code; nullptr if it caches
    /// none.
    void (*forget_code)() noexcept;
    /// Symbolizes addresses in loaded modules.
    void (*symbolize)(std::span<const CodeAddress> addresses, Symbols& symbols) noexcept;
    /// Calls `on_notice`.
    os::ModuleNotices::Listener listener;
  };

  constexpr explicit ModuleTracker(const Tables& tables) noexcept
      : tables_(tables), notices_(tables.listener) {}

  /// Detects modules unloaded since the last call. Call it before and after anything that may
  /// unload one. Control plane, not during a dump; takes some tenths of a millisecond, more if
  /// stacks are retired.
  void update() noexcept;
  /// Like `update`; the caller holds the control lock.
  void update_locked() noexcept;

  /// Calls `update`, and drops cached unwind data of unloaded code.
  void on_modules_unloaded() noexcept;

  /// Retires and symbolizes what loader notices left pending. The caller holds the control lock.
  void settle_locked() noexcept;

  /// Subscribes to loader notices, if available. Control plane. The caller must not hold the
  /// control lock: a thread with the loader's lock may wait for it.
  void watch() noexcept;
  /// Unsubscribes. The caller must not hold the control lock.
  void unwatch() noexcept;

  [[nodiscard]] const ModuleHistory& history() const noexcept { return history_; }

  /// Symbolizes with the config's symbolizer; for unloaded modules, with the names saved at
  /// unloading. Addresses in unloaded modules must come last.
  void symbolize(std::span<const CodeAddress> addresses, Symbols& symbols) const noexcept;

  /// Handles a notice. Runs inside the loader.
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
