/// An observer that counts allocations per game frame and tag, and enforces the budgets of tags.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "alloctap/annotate.hpp"
#include "alloctap/game/budget_table.hpp"
#include "alloctap/game/game_frame_log.hpp"
#include "alloctap/game/thread_frames.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/observe/observer.hpp"
#include "alloctap/os/clock.hpp"
#include "alloctap/os/thread_local.hpp"
#include "alloctap/runtime/fork_handlers.hpp"
#include "alloctap/runtime/per_thread.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/runtime/thread_state.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// An observer that counts allocations per game frame and tag:
///
///     struct GameConfig : alloctap::DefaultConfig {
///       using Hook = alloctap::InterposeHook;
///       using Tags = alloctap::ScopedTags;
///       using Observers = alloctap::Frames;
///     };
///     while (running) { update(); render(); alloctap::frame_mark(); }
///
/// Events before the first mark belong to no frame, because the program is loading. Snapshots have
/// the last `GameFrameLog::kLastFrames` frames, or fewer if their rows exceed
/// `FrameRowRing::kCapacity`. In each frame, a thread needs a row, and another for each tag it
/// used. Histograms cover all frames. The worst frames are stored with their stacks. Memory is
/// bounded: 3 MB, and 24 KiB per thread.
///
/// Each thread has its own counters, so events write no shared cache line. An event concurrent with
/// a mark counts in the old or the new frame. A free counts in the frame in which it occurs, for
/// the tag in which the block was allocated.
///
/// Time in the allocator is measured if the hook wraps the allocator (InterposeHook, PltHook,
/// InlineHook, WindowsHeapHook, WindowsImportHook), except for blocks with `Checks` and
/// HeapDestroy.
///
/// Frames belong to the process: the counts outlive a session, and `mark` works without a session.
/// Trackers whose observers have a different `Name` have separate frames. All data is static,
/// constant-initialized and never destroyed. Thread-safe; observer functions run inside malloc.
template <class Name = void>
class GameFramesOf {
 public:
  static constexpr ObserverFeatures features{
      .begin_timing = true, .add_to = true, .offer = std::is_void_v<Name>, .wants_owners = true};

  ALLOCTAP_ALWAYS_INLINE static void on_track(const ObservedBlock& block) noexcept {
    ThreadFrames* const thread = mine();
    if (thread != nullptr) {
      thread->allocate(block.owner.tag, block.stack, block.size);
      if (thread->pending.duration_ns != 0) [[unlikely]] {
        FrameTiming::settle(*thread, block.stack, block.size);
      }
    }
    if (budgets_.any()) budgets_.allocate(block.owner.tag, block.stack, block.size, current());
  }

  ALLOCTAP_ALWAYS_INLINE static void on_untrack(const ObservedBlock& block) noexcept {
    ThreadFrames* const thread = mine();
    if (thread != nullptr) {
      thread->free(block.owner.tag, block.size);
      timed_calls().gone_bytes = block.size;
      thread->gone_stack = block.stack;
    }
    if (budgets_.any()) budgets_.free(block.owner.tag, block.size);
  }

  ALLOCTAP_ALWAYS_INLINE static const TimedCall* begin_timing(AllocatorCall call,
                                                              std::size_t bytes) noexcept {
    if (!timed_calls().takes(call, bytes)) [[likely]] {
      return nullptr;
    }
    return begin_timed(call, bytes);
  }

  static void end_timing(const TimedCall& timed, StackOwner owner) noexcept {
    ThreadFrames* const thread = mine();
    if (thread != nullptr) FrameTiming::end(*thread, timed, owner.tag);
  }

  /// Ends a game frame and begins the next, as `frame_mark` does. Must not be called inside a hook.
  static bool mark() noexcept {
    if (inside_tracker()) return refuse();
    static_cast<void>(ForkHandlers::ensure_registered());
    // A recording scope delays forks, so that no fork happens in the middle of a mark.
    const RecordingScope section;
    if (marking_.exchange(true, std::memory_order_acquire)) return refuse();
    note_marker(section.thread());
    end_frame(current_.load(std::memory_order_relaxed), os::monotonic_ns());
    marking_.store(false, std::memory_order_release);
    return true;
  }

  /// Implements `alloctap::set_budget`.
  [[nodiscard]] static Status set_budget(Tag tag, const BudgetLimits& limits,
                                         const BudgetAction& action = {}) {
    const ReentrancyGuard guard;
    if (inside_tracker()) {
      return Status::failed_precondition(
          "a budget cannot be set inside of a dump, a hook or an observer");
    }
    const ControlScope hold;
    static_cast<void>(ThreadStates::stop_world());
    const bool is_set = budgets_.set(tag.id, limits, action);
    ThreadStates::resume_world();
    if (is_set) return Status();
    return Status::resource_exhausted("at most ", BudgetTable::kMaxCount, " tags can have budgets");
  }

  /// Sets the function table for game frames in `slots`, if `Name` is void.
  static void offer(alloctap_slots& slots) noexcept
    requires(std::is_void_v<Name>);

  /// Returns the number of the current frame; 0 before the first mark.
  [[nodiscard]] static FrameNumber current() noexcept {
    return current_.load(std::memory_order_relaxed);
  }

  /// Copies the frames to `snapshot`. Requires a stopped world. `GameFrameRows` later computes sums
  /// and tags from the copied rows. Returns false if out of memory.
  [[nodiscard]] static bool add_to(Snapshot& snapshot) noexcept {
    FrameHistory& history = snapshot.frames;
    const FrameNumber present = current();
    history.known = true;
    history.frames = present == 0 ? 0 : present - 1;
    history.refused_marks = refused_.load(std::memory_order_relaxed);
    history.marking_thread_changes = marker_changes_;
    history.lost_events = lost_.load(std::memory_order_relaxed);
    const FrameNumber oldest = present - std::min<FrameNumber>(present, GameFrameLog::kLastFrames);
    const FrameNumber first = std::max({FrameNumber{1}, oldest, rows_.first_complete()});
    const std::int64_t to_wall_ns = os::wall_clock_ns() - os::monotonic_ns();
    return log_.copy(first, present, to_wall_ns, history) && rows_.copy(first, history.rows) &&
           copy_unwritten(first, present, history.rows) && budgets_.copy(present, history);
  }

 private:
  ALLOCTAP_ALWAYS_INLINE static TimedCalls& timed_calls() noexcept {
    return os::ThreadLocal<TimedCalls, GameFramesOf>::mine();
  }

  /// Begins timing a call; returns nullptr if the thread has no counters. Needs no recording scope,
  /// because it accesses only data of the calling thread.
  ALLOCTAP_NOINLINE static const TimedCall* begin_timed(AllocatorCall call,
                                                        std::size_t bytes) noexcept {
    const os::ErrnoGuard preserve_error;
    const ThreadState* const state = this_thread_slot().state;
    ThreadFrames* const thread =
        state == nullptr ? nullptr : PerThread<Joined>::get_if_exists(*state);
    if (thread == nullptr) return nullptr;
    thread->pending = {};
    // A free of a block that was not recorded leaves it so, and not as an earlier free did.
    thread->gone_stack = kNoStackId;
    timed_calls().begin(call, bytes, thread->timed);
    return &thread->timed;
  }

  struct Joined : ThreadFrames {
    Joined() noexcept {
      next = first_.load(std::memory_order_relaxed);
      while (!first_.compare_exchange_weak(next, this, std::memory_order_release)) {
      }
    }
  };

  /// Returns the calling thread's counters for the current frame; nullptr if out of memory.
  ALLOCTAP_ALWAYS_INLINE static ThreadFrames* mine() noexcept {
    ThreadState* const state = ThreadStates::mine();
    ThreadFrames* const thread = state == nullptr ? nullptr : PerThread<Joined>::of(*state);
    if (thread == nullptr) [[unlikely]] {
      lost_.fetch_add(1, std::memory_order_relaxed);
      return nullptr;
    }
    const FrameNumber present = current_.load(std::memory_order_relaxed);
    if (thread->totals.frame.load(std::memory_order_relaxed) != present) [[unlikely]] {
      enter_frame(*thread, present);
    }
    return thread;
  }

  ALLOCTAP_NOINLINE static void enter_frame(ThreadFrames& thread, FrameNumber present) noexcept {
    if (thread.totals.frame.load(std::memory_order_relaxed) != 0) rows_.push(thread, present);
    thread.restart(present);
  }

  ALLOCTAP_NOINLINE static bool refuse() noexcept {
    refused_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }

  static void note_marker(const ThreadState* thread) noexcept {
    const std::uint32_t generation = thread == nullptr ? 0 : thread->generation;
    if (marker_ == thread && marker_generation_ == generation) return;
    if (marker_ != nullptr) ++marker_changes_;
    marker_ = thread;
    marker_generation_ = generation;
  }

  template <class Visit>
  static void for_each_thread(FrameNumber frame, Visit&& visit) noexcept {
    for (const ThreadFrames* thread = first_.load(std::memory_order_acquire); thread != nullptr;
         thread = thread->next) {
      if (thread->totals.frame.load(std::memory_order_acquire) == frame) visit(*thread);
    }
  }

  static void end_frame(FrameNumber ended, std::int64_t now) noexcept {
    if (ended != 0) {
      GameFrameLog::Ended frame{.number = ended, .begin_ns = begin_ns_, .end_ns = now};
      for_each_thread(ended,
                      [&](const ThreadFrames& thread) { frame.counts += thread.totals.counts(); });
      log_.add(frame, [&](FrameStackSums& stacks) { return describe(ended, stacks); });
    }
    if (budgets_.any()) budgets_.end_frame(ended);
    begin_ns_ = now;
    current_.store(ended + 1, std::memory_order_release);
  }

  /// Adds to `stacks` the stacks of `frame` from all threads, and returns the frame's slowest call.
  /// Must be called before the next frame begins.
  ALLOCTAP_NOINLINE static SlowCall describe(FrameNumber frame, FrameStackSums& stacks) noexcept {
    SlowCall slowest{};
    for_each_thread(frame, [&](const ThreadFrames& thread) {
      thread.stacks.for_each(frame, [&](const StackOfFrame& stack) { stacks.add(stack); });
      if (thread.slowest_frame.load(std::memory_order_relaxed) != frame) return;
      const SlowCall call = thread.slowest.load();
      if (call.duration_ns > slowest.duration_ns) slowest = call;
    });
    return slowest;
  }

  /// Copies the threads' rows that are not in the ring yet: a thread pushes its rows of a frame to
  /// the ring only at its first event in a later frame.
  static bool copy_unwritten(FrameNumber first, FrameNumber present,
                             ArenaArray<FrameRow>& rows) noexcept {
    bool kept = true;
    for (const ThreadFrames* thread = first_.load(std::memory_order_acquire); thread != nullptr;
         thread = thread->next) {
      const FrameNumber frame = thread->totals.frame.load(std::memory_order_relaxed);
      if (frame < first) continue;
      thread->for_each_row([&](TagId tag, const FramePart& part) {
        kept = rows.push_back(FrameRowRing::row_of(tag, part, frame, present)) && kept;
      });
    }
    return kept;
  }

  /// Has its own cache line, because it is written once per frame and read at every event.
  alignas(64) static inline constinit std::atomic<FrameNumber> current_{0};
  alignas(64) static inline constinit std::atomic<ThreadFrames*> first_{nullptr};
  static inline constinit std::atomic<bool> marking_{false};
  static inline constinit std::atomic<std::uint64_t> refused_{0};
  static inline constinit std::atomic<std::uint64_t> lost_{0};
  static inline constinit FrameRowRing rows_;
  static inline constinit BudgetTable budgets_;
  // Accessed only by the thread that executes `mark`, and by snapshots in a stopped world.
  static inline constinit GameFrameLog log_;
  static inline constinit std::int64_t begin_ns_ = 0;
  static inline constinit const ThreadState* marker_ = nullptr;
  static inline constinit std::uint32_t marker_generation_ = 0;
  static inline constinit std::uint64_t marker_changes_ = 0;
};

using Frames = GameFramesOf<>;
static_assert(Observer<Frames> && CheckedObserver<Frames>::ok);

}  // namespace alloctap

/// The function table for frames of annotate.h.
extern "C" ALLOCTAP_EXPORT inline constexpr alloctap_frame_functions alloctap_frames{
    .size = sizeof(alloctap_frame_functions),
    .mark = [] { return alloctap::Frames::mark() ? 1 : 0; },
};

namespace alloctap {

template <class Name>
void GameFramesOf<Name>::offer(alloctap_slots& slots) noexcept
  requires(std::is_void_v<Name>)
{
  slots.frames = &alloctap_frames;
}

}  // namespace alloctap
