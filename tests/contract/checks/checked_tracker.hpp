/// The tracker that looks after all blocks of these programs.
#pragma once

#include "alloctap/check/level_presets.hpp"
#include "alloctap/hook/interpose_hook.hpp"
#include "alloctap/tracker.hpp"

namespace alloctap::testing {

struct CheckedConfig10 : DefaultConfig {
  using Hook = InterposeHook;
  using Checks = Level10;
  /// Keeps the last one, and counts.
  static void on_misuse(const Misuse& misuse) noexcept;
};
using CheckedTracker = Tracker<CheckedConfig10>;

/// What `on_misuse` was told last, and how often.
struct ToldMisuse {
  Misuse last;
  int times = 0;
};
ToldMisuse& told_misuse() noexcept;

}  // namespace alloctap::testing
