/// A queue of modules about to be unloaded.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/symbol/module_table.hpp"

namespace alloctap {

/// A lock-free ring buffer. The loader's unload notifications add modules; the thread with the
/// control lock removes modules. The loader serializes the notifications, so the producer is
/// single. Neither side waits or allocates. Constant-initialized, never destroyed.
class UnloadedModuleQueue {
 public:
  static constexpr std::size_t kCapacity = 32;

  /// Enqueues a module that is being unloaded. In stacks with ids from `before` on, addresses in
  /// its range belong to a later module. If the queue is full, drops `module` and sets the overflow
  /// flag.
  void add(const Module& module, StackId before) noexcept;

  /// Calls `visit(const Module&, StackId before)` for each module, oldest first, and removes the
  /// module. Stops and keeps the module if `visit` returns false. The caller holds the control
  /// lock.
  template <class Visit>
  void take(Visit&& visit) noexcept {
    const std::size_t end = end_.load(std::memory_order_acquire);
    for (std::size_t at = begin_.load(std::memory_order_relaxed); at != end; ++at) {
      const Entry& entry = entries_[at % kCapacity];
      if (!visit(entry.module, entry.before)) return;
      begin_.store(at + 1, std::memory_order_release);
    }
  }

  /// Returns and clears the overflow flag.
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
