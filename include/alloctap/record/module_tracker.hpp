/// What a recorder does when code goes away: an address may mean other code from then on.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>

#include "alloctap/event/offered_annotations.hpp"
#include "alloctap/os/errno_guard.hpp"
#include "alloctap/os/memory_map.hpp"
#include "alloctap/os/module_notices.hpp"
#include "alloctap/pe/native_image.hpp"
#include "alloctap/record/thread_stats.hpp"
#include "alloctap/runtime/control_lock.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/runtime/thread_state.hpp"
#include "alloctap/stack/stack_table.hpp"
#include "alloctap/symbol/module_history.hpp"
#include "alloctap/symbol/unloaded_module_queue.hpp"

namespace alloctap {

/// Keeps the frames of unloaded modules apart from those of whatever comes to their place.
///
/// Stacks are raw addresses, and recording them knows of no modules. So when a module has gone,
/// each stack with addresses in it is retired: no look-up finds it any more, and the same addresses
/// make a stack of a new id. An id then tells which module its addresses mean: the first that went
/// after the stack was kept. The names of these frames are looked up at once, while the file is
/// there.
///
/// A stack that another thread records between the end of a module and the call of `update` counts
/// as the old module's. Where a thread was stopped inside the tracker nothing is retired.
///
/// Where the loader gives notice, that comes between a module and its successor, and nobody has to
/// call `update`: stacks are retired at once, where nobody holds the control lock at that moment,
/// and else, like the looking up of names, with the next report or the end of the session.
template <class Recorder, class Config>
class ModuleTracker {
 public:
  /// Looks which modules went since the last time. To be called before and after anything that may
  /// unload one. Control plane, outside of a dump; takes some tenths of a millisecond, more where
  /// stacks are retired.
  static void update() noexcept {
    const ReentrancyGuard guard;
    if (!guard.is_outermost() || Recorder::stacks().end_id() == kFirstStack) return;
    const std::lock_guard hold(control_lock);
    update_locked();
  }

  /// Drops what is remembered of code that went, too.
  static void on_modules_unloaded() noexcept {
    forget_code();
    update();
  }

  /// `update` for who holds the control lock.
  static void update_locked() noexcept {
    if (is_told()) {
      settle_locked();
      return history_.update([](const Module&) {});
    }
    history_.update([](const Module& module) { retire(module); });
  }

  /// Looks up the names that notices of the loader left for later. Behind the control lock.
  static void settle_locked() noexcept {
    if constexpr (os::kLoaderGivesNotice) {
      retire_departed(WorldGate::kTimeoutNs);
      history_.for_each_unnamed([](UnloadedModule& unloaded) { symbolize(unloaded); });
    }
  }

  /// Has the loader tell from now on, if it does such a thing. Control plane, without the control
  /// lock: the loader's may be held by a thread that waits for it.
  static void watch() noexcept {
    if constexpr (os::kLoaderGivesNotice) {
      if (notices_.start() != 0) return;
      const std::lock_guard hold(control_lock);
      update_locked();
      told_.store(true, std::memory_order_relaxed);
    }
  }

  /// Ends that. Without the control lock, too.
  static void unwatch() noexcept {
    if constexpr (os::kLoaderGivesNotice) {
      notices_.stop();
      const std::lock_guard hold(control_lock);
      if (told_.load(std::memory_order_relaxed)) update_locked();
      told_.store(false, std::memory_order_relaxed);
    }
  }

  [[nodiscard]] static const ModuleHistory& history() noexcept { return history_; }

  /// As the config's symbolizer, and for places in unloaded modules what was known when they went.
  /// Those come last in `places`.
  static void symbolize(std::span<const CodeAddress> places, Symbols& symbols) noexcept {
    const auto unloaded = std::find_if(places.begin(), places.end(), [](const CodeAddress& place) {
      return place.module != nullptr && place.module->is_unloaded();
    });
    Config::Symbolizer::symbolize(places.first(static_cast<std::size_t>(unloaded - places.begin())),
                                  symbols);
    history_.symbolize(places, symbols);
  }

 private:
  static void forget_code() noexcept {
    if constexpr (requires { Config::Stack::forget_unloaded_modules(); }) {
      Config::Stack::forget_unloaded_modules();
    }
  }

  /// Whether the loader tells of every module that goes, so that nobody has to look.
  static bool is_told() noexcept {
    if constexpr (os::kLoaderGivesNotice) {
      return told_.load(std::memory_order_relaxed) && !departed_.take_overflow();
    }
    return false;
  }

  /// Inside the loader. Rules are forgotten once more before the next module runs: a thread may
  /// have walked through the old one after its notice.
  static void on_notice(const os::ModuleNotice& notice) noexcept {
    const os::ErrnoGuard preserve_error;
    const ReentrancyGuard guard;
    if (notice.what == os::ModuleNotice::What::kUnloading) {
      rules_may_be_old_.store(true, std::memory_order_relaxed);
      forget_code();
      if (Recorder::stacks().end_id() == kFirstStack) return;
      departed_.add(module_of(notice), Recorder::stacks().end_id());
    } else {
      OfferedAnnotations::offer_to(notice.start);
      if (!rules_may_be_old_.exchange(false, std::memory_order_relaxed)) return;
      forget_code();
    }
    // Who holds it may be waiting for the loader. Who is inside the tables is not: that ends.
    if (!control_lock.try_lock()) return;
    retire_departed(kNoticeTimeoutNs);
    control_lock.unlock();
  }

  static Module module_of(const os::ModuleNotice& notice) noexcept {
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

  /// What cannot be retired now stays for the next time.
  static void retire_departed(std::int64_t patience_ns) noexcept {
    departed_.take([patience_ns](const Module& module, StackId before) {
      const bool quiet = ThreadStates::close_gate(patience_ns);
      if (quiet) static_cast<void>(retire_quietly(module, before));
      ThreadStates::open_gate();
      return quiet;
    });
  }

  static void retire(const Module& module) noexcept {
    const bool quiet = ThreadStates::close_gate();
    UnloadedModule* unloaded =
        quiet ? retire_quietly(module, Recorder::stacks().end_id()) : nullptr;
    ThreadStates::open_gate();
    if (unloaded != nullptr) symbolize(*unloaded);
  }

  /// Of the stacks before `end` those with addresses in `module`; nullptr where there are none.
  /// Behind the closed gate.
  static UnloadedModule* retire_quietly(const Module& module, StackId end) noexcept {
    UnloadedModule* unloaded = retire_stacks(module, end);
    if (unloaded == nullptr) return nullptr;
    Recorder::for_each_totals([](ThreadStats& totals) {
      totals.stacks.forget_stacks([](StackId id) { return Recorder::stacks_.is_retired(id); });
    });
    return unloaded;
  }

  static UnloadedModule* retire_stacks(const Module& module, StackId end) noexcept {
    ArenaArray<CodeAddress> places;
    for (StackId id = kFirstStack; id < end; ++id) {
      const std::size_t before = places.size();
      add_places(module, id, places);
      if (places.size() > before) Recorder::stacks_.retire(id);
    }
    if (places.empty()) return nullptr;
    UnloadedModule* unloaded = history_.add(module, end);
    if (unloaded != nullptr) unloaded->places = std::move(places);
    return unloaded;
  }

  /// Those of the stack `id` in `module`, each once so far as is known at once.
  static void add_places(const Module& module, StackId id,
                         ArenaArray<CodeAddress>& places) noexcept {
    for (const std::uintptr_t frame : Recorder::stacks().frames(id)) {
      const std::uintptr_t address = frame - 1;
      if (!module.contains(address) || history_.find(address, id) != nullptr) continue;
      static_cast<void>(places.push_back({.address = address, .module = nullptr}));
    }
  }

  static void symbolize(UnloadedModule& unloaded) noexcept {
    ArenaArray<CodeAddress>& places = unloaded.places;
    std::sort(places.begin(), places.end(), is_below);
    const auto* end = std::unique(
        places.begin(), places.end(),
        [](const CodeAddress& a, const CodeAddress& b) { return a.address == b.address; });
    static_cast<void>(places.resize(static_cast<std::size_t>(end - places.begin())));
    for (CodeAddress& place : places) place.module = &unloaded.module;
    if (!unloaded.symbols.expect(places.size())) return;
    Config::Symbolizer::symbolize({places.data(), places.size()}, unloaded.symbols);
  }

  static bool is_below(const CodeAddress& a, const CodeAddress& b) noexcept {
    return a.address < b.address;
  }

  static constexpr std::int64_t kNoticeTimeoutNs = 2'000'000;

  static inline constinit ModuleHistory history_;
  static inline constinit UnloadedModuleQueue departed_;
  static inline constinit os::ModuleNotices notices_{&on_notice};
  static inline constinit std::atomic<bool> told_{false};
  static inline constinit std::atomic<bool> rules_may_be_old_{false};
};

}  // namespace alloctap
