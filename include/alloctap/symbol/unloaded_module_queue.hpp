/// Modules of which the loader has told that they go, until somebody has the time for them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/symbol/module_table.hpp"

namespace alloctap {

/// A ring between the loader's notices, which come one at a time, and whoever holds the control
/// lock. Neither side waits or allocates. Constant-initialized, never destroyed.
class UnloadedModuleQueue {
 public:
  static constexpr std::size_t kCapacity = 32;

  /// Notes that `module` goes; stacks from `before` on mean what comes to its place. Where there is
  /// no room it is left out, and `take_overflow` says so.
  void add(const Module& module, StackId before) noexcept;

  /// Calls `visit(const Module&, StackId before)` for each, the first that went first, and forgets
  /// it; stops with one for which that returns false, and keeps it. Behind the control lock.
  template <class Visit>
  void take(Visit&& visit) noexcept {
    const std::size_t end = end_.load(std::memory_order_acquire);
    for (std::size_t at = begin_.load(std::memory_order_relaxed); at != end; ++at) {
      const Entry& entry = entries_[at % kCapacity];
      if (!visit(entry.module, entry.before)) return;
      begin_.store(at + 1, std::memory_order_release);
    }
  }

  /// Whether one was left out since the last time this was asked.
  [[nodiscard]] bool take_overflow() noexcept { return overflow_.exchange(false); }

 private:
  struct Entry {
    Module module;
    StackId before = kNoStackId;
    std::array<char, 1024> path{};
  };

  std::array<Entry, kCapacity> entries_{};
  std::atomic<std::size_t> begin_{0};
  std::atomic<std::size_t> end_{0};
  std::atomic<bool> overflow_{false};
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/symbol/impl/unloaded_module_queue.hpp"
#endif
