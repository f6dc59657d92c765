/// The tracker that alloctap-run puts into a program of Windows.
#pragma once

#include <alloctap/alloctap.hpp>
#include <alloctap/symbol/system_symbolizer.hpp>

#include "run_hook.hpp"
#include "run_queue.hpp"

namespace alloctap::run {

struct RunConfig : DefaultConfig {
  using Hook = RunHook;
  using Stack = SelectableStack<UnwindTableStack, BacktraceStack, FramePointerStack, NoStack>;
  using Sampling = AdjustableSampling;
  using Queue = RunQueue;
  using Symbolizer = DefaultSymbolizer;
  static constexpr Limits limits{.max_frames = ThreadState::kMostFrames};
};

using RunTracker = Tracker<RunConfig>;

}  // namespace alloctap::run
