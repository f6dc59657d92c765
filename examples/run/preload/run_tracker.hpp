/// The tracker that alloctap-run puts into a program.
#pragma once

#include <alloctap/alloctap.hpp>
#include <cstdint>

#include "helper_symbolizer.hpp"
#include "run_hook.hpp"
#include "run_queue.hpp"

namespace alloctap::run {

struct RunConfig : DefaultConfig {
  using Hook = RunHook;
  using Stack = SelectableStack<UnwindTableStack, BacktraceStack, FramePointerStack, NoStack>;
  using Sampling = AdjustableSampling;
  using Queue = RunQueue;
  using Symbolizer = HelperSymbolizer;
  static constexpr Limits limits{.max_frames = ThreadState::kMostFrames};

  /// Reads the settings and starts the tracker, before anything of the program runs.
  static void on_first_call() noexcept;

  /// Whether a call comes from this object itself: its C++ library sets memory aside when it is
  /// loaded.
  static bool is_own_call(const CallOrigin& origin) noexcept;
};

using RunTracker = Tracker<RunConfig>;

}  // namespace alloctap::run
