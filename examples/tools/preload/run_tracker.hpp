/// The tracker that alloctap-run puts into a program.
#pragma once

#include <alloctap/implement.hpp>
#include <alloctap/os/memory_faults.hpp>
#include <cstdint>
#include <span>

#include "helper_symbolizer.hpp"
#include "own_object.hpp"
#include "preload/kind_namespace.hpp"
#include "run_annotations.hpp"
#include "run_checks.hpp"
#include "run_queue.hpp"
#include "run_sampling.hpp"

namespace alloctap::run::inline ALLOCTAP_RUN_KIND {

struct RunConfig : DefaultConfig {
  using Hook = RunCheckedHook;
  using Checks = RunChecks;
  using Stack = SelectableStack<UnwindTableStack, BacktraceStack, FramePointerStack, NoStack>;
  using Sampling = RunSampling;
  using Queue = RunQueue;
  using Tags = RunTags;
  using Pools = RunPools;
  using Observers = RunObservers;
  using Meta = MemoryMetaContainer<SpacedShadowIndex>;
  using Symbolizer = HelperSymbolizer;
  static constexpr Limits limits{.max_frames = ThreadState::kMaxFrames};
  static constexpr ConfigFeatures features{.on_first_call = true,
                                           .is_internal_call = true,
                                           .may_have_internal_calls = true,
                                           .own_module = true,
                                           .for_each_kept_pointer = true,
                                           .on_misuse = true,
                                           .catch_faults = true};

  /// Reads the settings and starts the tracker, before anything of the program runs.
  static void on_first_call() noexcept;

  static bool is_internal_call(const CallOrigin& origin) noexcept {
    return OwnObject::is_caller(origin);
  }

  /// Until its constructors run. What it does later it does under guards, and the one call that its
  /// C++ library makes in the last of them comes before any of the program's.
  static bool may_have_internal_calls() noexcept {
    return !OwnObject::is_loaded.load(std::memory_order_relaxed);
  }

  /// They come to the handler of fatal signals, or to what stands before the program's own.
  static bool catch_faults(os::FaultListener listener) noexcept {
    return os::add_fault_listener(listener);
  }

  /// Tells standard error, in a line.
  static void on_misuse(const Misuse& misuse) noexcept;

  /// This object: its variables are not the program's.
  static std::span<const char> own_module() noexcept { return {__ehdr_start, _end}; }

  /// What this keeps of the program's.
  static void for_each_kept_pointer(void (*visit)(void* context, const void* pointer),
                                    void* context) noexcept;
};

using RunTracker = Tracker<RunConfig>;

}  // namespace alloctap::run::inline ALLOCTAP_RUN_KIND
