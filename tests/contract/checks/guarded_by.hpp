/// Trackers that put all blocks at the edges of pages, whatever the hook.
#pragma once

#include <atomic>

#include "alloctap/check/checks.hpp"
#include "alloctap/impl/tracker.hpp"

namespace alloctap::testing {

/// Beside what `GuardPages` asks for: threads go on after a fault while `outlives` is true.
struct OutlivingGuardPages {
  static constexpr bool kChecks = true;
  static constexpr CheckNeeds needs = GuardPages<>::needs;
  static CheckSettings settings() noexcept {
    CheckSettings settings;
    GuardPages<>::apply(settings);
    settings.outlives_faults = outlives.load(std::memory_order_relaxed);
    return settings;
  }
  static inline constinit std::atomic<bool> outlives{true};
};

/// Of a tracker for blocks that come through `ChosenHook`.
template <class ChosenHook>
struct GuardedBy : DefaultConfig {
  using Hook = ChosenHook;
  using Checks = OutlivingGuardPages;
};

}  // namespace alloctap::testing
