/// Definitions for record/module_tracker.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <utility>

#include "alloctap/event/offered_annotations.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/memory_map.hpp"
#include "alloctap/os/thread_local.hpp"
#include "alloctap/pe/native_image.hpp"
#include "alloctap/record/module_tracker.hpp"
#include "alloctap/runtime/futex_lock.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/runtime/thread_state.hpp"

namespace alloctap {

/// Returns the module described by a loader notice, with its build-id if its headers are readable.
inline Module module_of(const os::ModuleNotice& notice) noexcept {
  Module module{.start = notice.start, .end = notice.end, .path = notice.path};
  alignas(8) std::array<std::byte, 4096> headers;
  const std::size_t bytes = os::copy_memory(notice.start, headers);
  const auto image = native::read_mapped_image(std::span(headers).first(bytes), notice.start);
  if (!image) return module;
  module.bias = image->bias;
  module.build_id_bytes = std::min(sizeof module.build_id, image->build_id.size());
  if (module.build_id_bytes > 0) {
    std::memcpy(module.build_id, image->build_id.data(), module.build_id_bytes);
  }
  return module;
}

ALLOCTAP_INLINE void ModuleTracker::update() noexcept {
  const ReentrancyGuard guard;
  if (!guard.is_outermost() || tables_.stacks.end_id() == kFirstStack) return;
  const std::lock_guard hold(control_lock);
  update_locked();
}

ALLOCTAP_INLINE void ModuleTracker::on_modules_unloaded() noexcept {
  forget_code();
  update();
}

ALLOCTAP_INLINE void ModuleTracker::update_locked() noexcept {
  const bool is_informed = has_all_notices();
  if (is_informed) settle_locked();
  history_.update([&](const Module& module) {
    if (!is_informed) retire(module);
  });
}

ALLOCTAP_INLINE void ModuleTracker::settle_locked() noexcept {
  if constexpr (os::kLoaderGivesNotice) {
    retire_departed(WorldGate::kTimeoutNs);
    history_.for_each_unnamed([this](UnloadedModule& unloaded) { name(unloaded); });
  }
}

ALLOCTAP_INLINE void ModuleTracker::watch() noexcept {
  if constexpr (os::kLoaderGivesNotice) {
    if (notices_.start() != 0) return;
    const std::lock_guard hold(control_lock);
    update_locked();
    gets_notices_.store(true, std::memory_order_relaxed);
  }
}

ALLOCTAP_INLINE void ModuleTracker::unwatch() noexcept {
  if constexpr (os::kLoaderGivesNotice) {
    notices_.stop();
    const std::lock_guard hold(control_lock);
    if (gets_notices_.load(std::memory_order_relaxed)) update_locked();
    gets_notices_.store(false, std::memory_order_relaxed);
  }
}

ALLOCTAP_INLINE void ModuleTracker::symbolize(std::span<const CodeAddress> addresses,
                                              Symbols& symbols) const noexcept {
  const auto unloaded =
      std::find_if(addresses.begin(), addresses.end(), [](const CodeAddress& address) {
        return address.module != nullptr && address.module->is_unloaded();
      });
  tables_.symbolize(addresses.first(static_cast<std::size_t>(unloaded - addresses.begin())),
                    symbols);
  history_.symbolize(addresses, symbols);
}

/// Returns whether the loader gave a notice for each unloaded module.
ALLOCTAP_INLINE bool ModuleTracker::has_all_notices() noexcept {
  if constexpr (os::kLoaderGivesNotice) {
    return gets_notices_.load(std::memory_order_relaxed) && !tables_.departed->take_overflow();
  }
  return false;
}

/// Drops cached unwind rules when a module is unloaded, and again before the next loaded module
/// runs: meanwhile a thread may have cached rules of the old module again.
ALLOCTAP_INLINE void ModuleTracker::on_notice(const os::ModuleNotice& notice) noexcept {
  const os::ErrnoGuard preserve_error;
  const ReentrancyGuard guard;
  if (notice.what == os::ModuleNotice::What::kUnloading) {
    rules_may_be_old_.store(true, std::memory_order_relaxed);
    forget_code();
    if (tables_.stacks.end_id() == kFirstStack) return;
    tables_.departed->add(module_of(notice), tables_.stacks.end_id());
  } else {
    OfferedAnnotations::offer_to(notice.start);
    if (!rules_may_be_old_.exchange(false, std::memory_order_relaxed)) return;
    forget_code();
  }
  // Does not block, because the holder of the control lock may wait for the loader. No thread waits
  // for the loader inside a recording scope, so stopping the world is safe.
  if (!control_lock.try_lock()) return;
  retire_departed(kNoticeTimeoutNs);
  control_lock.unlock();
}

/// Retires the stacks of unloaded modules. If the world cannot be stopped, keeps the remaining
/// modules for the next call.
ALLOCTAP_INLINE void ModuleTracker::retire_departed(std::int64_t timeout_ns) noexcept {
  tables_.departed->take([&](const Module& module, StackId before) {
    const bool stopped = ThreadStates::stop_world(timeout_ns);
    if (stopped) static_cast<void>(retire_stopped(module, before));
    ThreadStates::resume_world();
    return stopped;
  });
}

ALLOCTAP_INLINE void ModuleTracker::retire(const Module& module) noexcept {
  const bool stopped = ThreadStates::stop_world();
  UnloadedModule* unloaded = stopped ? retire_stopped(module, tables_.stacks.end_id()) : nullptr;
  ThreadStates::resume_world();
  if (unloaded != nullptr) name(*unloaded);
}

/// Retires the stacks with ids before `end` that have addresses in `module`. Returns nullptr if
/// none has. The world is stopped.
ALLOCTAP_INLINE UnloadedModule* ModuleTracker::retire_stopped(const Module& module,
                                                              StackId end) noexcept {
  UnloadedModule* unloaded = retire_stacks(module, end);
  if (unloaded == nullptr) return nullptr;
  tables_.threads.for_each([this](ThreadStats& stats, const ThreadState&) {
    stats.stacks.forget_stacks([this](StackId id) { return tables_.stacks.is_retired(id); });
  });
  return unloaded;
}

ALLOCTAP_INLINE UnloadedModule* ModuleTracker::retire_stacks(const Module& module,
                                                             StackId end) noexcept {
  ArenaArray<CodeAddress> addresses;
  for (StackId id = kFirstStack; id < end; ++id) {
    const std::size_t before = addresses.size();
    add_addresses(module, id, addresses);
    if (addresses.size() > before) tables_.stacks.retire(id);
  }
  if (addresses.empty()) return nullptr;
  UnloadedModule* unloaded = history_.add(module, end);
  if (unloaded != nullptr) unloaded->places = std::move(addresses);
  return unloaded;
}

/// Appends the frame addresses of stack `id` that lie in `module`. May append duplicates.
ALLOCTAP_INLINE void ModuleTracker::add_addresses(
    const Module& module, StackId id, ArenaArray<CodeAddress>& addresses) const noexcept {
  for (const std::uintptr_t frame : tables_.stacks.frames(id)) {
    const std::uintptr_t address = frame - 1;
    if (!module.contains(address) || history_.find(address, id) != nullptr) continue;
    static_cast<void>(addresses.push_back({.address = address, .module = nullptr}));
  }
}

/// Symbolizes the frames of an unloaded module.
ALLOCTAP_INLINE void ModuleTracker::name(UnloadedModule& unloaded) const noexcept {
  ArenaArray<CodeAddress>& addresses = unloaded.places;
  std::sort(addresses.begin(), addresses.end(),
            [](const CodeAddress& a, const CodeAddress& b) { return a.address < b.address; });
  const auto* end = std::unique(
      addresses.begin(), addresses.end(),
      [](const CodeAddress& a, const CodeAddress& b) { return a.address == b.address; });
  static_cast<void>(addresses.resize(static_cast<std::size_t>(end - addresses.begin())));
  for (CodeAddress& address : addresses) address.module = &unloaded.module;
  if (!unloaded.symbols.expect(addresses.size())) return;
  tables_.symbolize({addresses.data(), addresses.size()}, unloaded.symbols);
}

}  // namespace alloctap
