/// The tracker that alloctap-run puts into a program of Windows.
#pragma once

#include <alloctap/implement.hpp>
#include <alloctap/symbol/system_symbolizer.hpp>

#include "run_checks.hpp"
#include "run_queue.hpp"

namespace alloctap::run {

struct RunConfig : DefaultConfig {
  using Hook = RunCheckedHook;
  using Checks = RunChecks;
  using Stack = SelectableStack<UnwindTableStack, BacktraceStack, FramePointerStack, NoStack>;
  using Sampling = AdjustableSampling;
  using Queue = RunQueue;
  using Symbolizer = DefaultSymbolizer;
  static constexpr Limits limits{.max_frames = ThreadState::kMaxFrames};
  static constexpr ConfigFeatures features{.on_misuse = true};

  /// Tells standard error, in a line.
  static void on_misuse(const Misuse& misuse) noexcept;
};

using RunTracker = Tracker<RunConfig>;

}  // namespace alloctap::run
