/// The tracker that puts all blocks of these programs at the edges of pages.
#pragma once

#include <atomic>
#include <cstdint>

#include "alloctap/check/checks.hpp"
#include "alloctap/check/guard_pages.hpp"
#include "alloctap/hook/interpose_hook.hpp"
#include "alloctap/tracker.hpp"

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

struct GuardedConfig : DefaultConfig {
  using Hook = InterposeHook;
  using Checks = OutlivingGuardPages;
};
using GuardedTracker = Tracker<GuardedConfig>;

}  // namespace alloctap::testing
