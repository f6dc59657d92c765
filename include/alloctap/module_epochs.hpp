/// What a recorder does when code goes away: an address may mean other code from then on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "alloctap/guard/control_lock.hpp"
#include "alloctap/guard/per_thread.hpp"
#include "alloctap/guard/reentrancy_guard.hpp"
#include "alloctap/guard/thread_state.hpp"
#include "alloctap/stack/stack_table.hpp"
#include "alloctap/symbol/module_history.hpp"

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
template <class Recorder, class Config>
class ModuleEpochs {
 public:
  /// Looks which modules went since the last time. To be called before and after anything that may
  /// unload one. Control plane, outside of a dump; takes some tenths of a millisecond, more where
  /// stacks are retired.
  static void update() noexcept {
    const ReentrancyGuard guard;
    if (!guard.outermost() || Recorder::stacks().end_id() == kFirstStack) return;
    const std::lock_guard hold(control_lock);
    update_locked();
  }

  /// Drops what is remembered of code that went, too.
  static void on_modules_unloaded() noexcept {
    if constexpr (requires { Config::Stack::forget_unloaded_modules(); }) {
      Config::Stack::forget_unloaded_modules();
    }
    update();
  }

  /// `update` for who holds the control lock.
  static void update_locked() noexcept {
    history_.update([](const Module& module) { retire(module); });
  }

  [[nodiscard]] static const ModuleHistory& history() noexcept { return history_; }

  /// As the config's symbolizer, and for places in unloaded modules what was known when they went.
  /// Those come last in `places`.
  static void symbolize(std::span<const CodePlace> places, Symbols& symbols) noexcept {
    const auto unloaded = std::find_if(places.begin(), places.end(), [](const CodePlace& place) {
      return place.module != nullptr && place.module->is_unloaded();
    });
    Config::Symbolizer::symbolize(places.first(static_cast<std::size_t>(unloaded - places.begin())),
                                  symbols);
    history_.symbolize(places, symbols);
  }

 private:
  static void retire(const Module& module) noexcept {
    const bool quiet = ThreadStates::close_gate();
    UnloadedModule* unloaded = quiet ? retire_stacks(module) : nullptr;
    if (unloaded != nullptr) {
      PerThread<typename Recorder::JoinedTotals>::for_each([](auto& totals) {
        totals.stacks.forget_stacks([](StackId id) { return Recorder::stacks_.is_retired(id); });
      });
    }
    ThreadStates::open_gate();
    if (unloaded != nullptr) symbolize(*unloaded);
  }

  /// nullptr where no stack has addresses in `module`.
  static UnloadedModule* retire_stacks(const Module& module) noexcept {
    const StackId end = Recorder::stacks().end_id();
    ArenaArray<CodePlace> places;
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
  static void add_places(const Module& module, StackId id, ArenaArray<CodePlace>& places) noexcept {
    for (const std::uintptr_t frame : Recorder::stacks().frames(id)) {
      const std::uintptr_t address = frame - 1;
      if (!module.contains(address) || history_.find(address, id) != nullptr) continue;
      static_cast<void>(places.push_back({.address = address, .module = nullptr}));
    }
  }

  static void symbolize(UnloadedModule& unloaded) noexcept {
    ArenaArray<CodePlace>& places = unloaded.places;
    std::sort(places.begin(), places.end(), is_below);
    const auto* end =
        std::unique(places.begin(), places.end(),
                    [](const CodePlace& a, const CodePlace& b) { return a.address == b.address; });
    static_cast<void>(places.resize(static_cast<std::size_t>(end - places.begin())));
    for (CodePlace& place : places) place.module = &unloaded.module;
    if (!unloaded.symbols.expect(places.size())) return;
    Config::Symbolizer::symbolize({places.data(), places.size()}, unloaded.symbols);
  }

  static bool is_below(const CodePlace& a, const CodePlace& b) noexcept {
    return a.address < b.address;
  }

  static inline constinit ModuleHistory history_;
};

}  // namespace alloctap
