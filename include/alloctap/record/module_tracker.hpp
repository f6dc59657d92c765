/// What becomes of stacks when a module is unloaded: an address may mean other code from then on.
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

/// Keeps the frames of unloaded modules apart from those of modules that are loaded in their place.
///
/// Stacks are raw addresses, and recording them knows of no modules. So when a module was unloaded,
/// each stack with addresses in it is retired: no look-up finds it any more, and the same addresses
/// make a stack of a new id. An id then says which module its addresses mean: the first one that
/// was unloaded after the stack was kept. The names of these frames are looked up at once, while
/// the file is there.
///
/// A stack that another thread records between the end of a module and the call of `update` counts
/// as the old module's. If a thread was stopped inside the tracker nothing is retired.
///
/// If the loader gives notice, between a module and its successor, nothing has to call `update`:
/// stacks are retired at once if the control lock is free at that moment, and else, like the
/// looking up of names, with the next report or the end of the session.
///
/// Constant-initialized, never destroyed.
class ModuleTracker {
 public:
  /// What it needs of its tracker.
  struct Tables {
    StackTable& stacks;
    ThreadStatsTable& threads;
    /// nullptr if the loader gives no notice. Apart from the rest because it is large, and zeros.
    UnloadedModuleQueue* departed;
    /// Drops what the stack capture remembers of unloaded code; nullptr if that remembers nothing.
    void (*forget_code)() noexcept;
    /// Names addresses of modules that are loaded.
    void (*symbolize)(std::span<const CodeAddress> addresses, Symbols& symbols) noexcept;
    /// Calls `on_notice`.
    os::ModuleNotices::Listener listener;
  };

  constexpr explicit ModuleTracker(const Tables& tables) noexcept
      : tables_(tables), notices_(tables.listener) {}

  /// Finds out which modules were unloaded since the last time. To be called before and after
  /// anything that may unload one. Control plane, outside of a dump; takes some tenths of a
  /// millisecond, more if stacks are retired.
  void update() noexcept;
  /// As `update`, by a caller that holds the control lock.
  void update_locked() noexcept;

  /// Drops what is remembered of unloaded code, too.
  void on_modules_unloaded() noexcept;

  /// Looks up the names that notices of the loader left for later. Behind the control lock.
  void settle_locked() noexcept;

  /// Asks the loader for notices from now on, if it gives any. Control plane, without the control
  /// lock: the loader's may be held by a thread that waits for it.
  void watch() noexcept;
  /// Ends that. Without the control lock, too.
  void unwatch() noexcept;

  [[nodiscard]] const ModuleHistory& history() const noexcept { return history_; }

  /// As the config's symbolizer, and for addresses in unloaded modules what was known when they
  /// were unloaded. Those come last in `addresses`.
  void symbolize(std::span<const CodeAddress> addresses, Symbols& symbols) const noexcept;

  /// Runs inside the loader.
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
