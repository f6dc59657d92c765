/// The recorder, to which the hook reports events; snapshots read its tables.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/event/event_sink.hpp"
#include "alloctap/event/policy_features.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/meta/meta_container.hpp"
#include "alloctap/observe/observer.hpp"
#include "alloctap/os/thread_local.hpp"
#include "alloctap/queue/direct_queue.hpp"
#include "alloctap/record/block_tracker.hpp"
#include "alloctap/record/module_tracker.hpp"
#include "alloctap/record/observer_notifier.hpp"
#include "alloctap/record/peak_tracker.hpp"
#include "alloctap/record/recorded_data.hpp"
#include "alloctap/record/recording_mode.hpp"
#include "alloctap/record/sampled_heap.hpp"
#include "alloctap/record/thread_stats_table.hpp"
#include "alloctap/record/timeline.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/runtime/thread_state.hpp"
#include "alloctap/sample/sampling_policy.hpp"
#include "alloctap/stack/stack_capture.hpp"
#include "alloctap/stack/stack_table.hpp"
#include "alloctap/tag/tag_policy.hpp"

namespace alloctap {

/// The tables of one tracker, and the path of an event into them: sample, capture the stack, count,
/// update the container (directly or by a queue). It is the `EventSink` of the tracker's hook. All
/// members are static. They are constant-initialized and never destroyed, because events may
/// precede constructors and follow destructors of the program. Event functions run inside malloc.
/// Each thread counts its events in its own `ThreadStats`, so no two threads write one cache line.
template <class Config>
class Recorder {
 public:
  using Meta = typename Config::Meta;
  using Blocks = BlockTracker<Meta, Recorder>;
  using Queue = typename Config::Queue::template For<Blocks>;
  using Sampling = typename Config::Sampling;
  static constexpr auto kConfig = features_of<ConfigFeatures, Config>();

  /// Whether a session may sample. If false, `sampling().estimate` is always nullptr.
  static constexpr bool kMaySample = !kNeverSamples<Sampling>;
  /// Whether the thread that causes an event applies it at once, without a queue.
  static constexpr bool kDeliversAtOnce = features_of<QueueFeatures, Queue>().delivers_at_once;

  // Access to the parts of the recorder.

  static Meta& meta() noexcept { return meta_; }
  static Queue& queue() noexcept { return queue_; }
  static RecordingMode& mode() noexcept { return mode_; }
  static ThreadStatsTable& threads() noexcept { return threads_; }
  static const StackTable& stacks() noexcept { return stacks_; }
  static ModuleTracker& modules() noexcept { return modules_; }
  static Timeline& timeline() noexcept { return timeline_; }

  /// Returns access to the parts for code that does not depend on the config. Control plane.
  static RecordedData data() noexcept {
    RecordedData data{.threads = threads_,
                      .stacks = stacks_,
                      .mappings = meta_.mappings(),
                      .peak = peak_,
                      .timeline = timeline_,
                      .tags = Config::Tags::description(),
                      .sampling = sampling(),
                      .for_each_live = &for_each_live,
                      .for_each_table = &for_each_table};
    if constexpr (!kDeliversAtOnce) data.flush_queue = []() noexcept { queue_.flush(); };
    if constexpr (features_of<IndexFeatures, Meta>().age_ns) {
      data.age_ns = [](const void* pointer) noexcept { return meta_.age_ns(pointer); };
    }
    if constexpr (features_of<QueueFeatures, Queue>().log) {
      data.cut_log = [](LoggedEvents& events) noexcept { return queue_.log().cut(events); };
    }
    return data;
  }

  // Control of the session.

  /// Starts a session before the hook is installed: asks the sampling policy whether the session
  /// samples, and ends all pauses.
  static void begin_session() noexcept {
    mode_.begin(Sampling::selects(), !Sampling::records_everything());
  }
  /// Ends the session after the hook is uninstalled.
  static void end_session() noexcept { mode_.end(); }

  /// Resets the queue and the peak tracker in the child of a fork, which has one thread.
  static void after_fork() noexcept {
    queue_.after_fork();
    peak_.after_fork();
  }

  /// Limits the depth of later stacks to `frames`, clamped to [1, `Config::limits.max_frames`].
  static void set_max_frames(std::uint32_t frames) noexcept {
    max_frames_.store(std::clamp<std::uint32_t>(frames, 1, Config::limits.max_frames),
                      std::memory_order_relaxed);
  }
  static std::uint32_t max_frames() noexcept { return max_frames_.load(std::memory_order_relaxed); }

  /// Sets whether mappings are recorded (true by default). Call before a session.
  static void record_mappings(bool on) noexcept {
    records_mappings_.store(on, std::memory_order_relaxed);
  }
  static bool records_mappings() noexcept {
    return records_mappings_.load(std::memory_order_relaxed);
  }

  /// Passes the minimum distance of block addresses to a container that can use that distance.
  /// Called by hooks that know it, before any block is recorded.
  static void set_min_block_spacing(std::size_t bytes) noexcept
    requires(features_of<IndexFeatures, Meta>().set_min_block_spacing)
  {
    // Stops the world so that every thread that records afterwards sees the change.
    static_cast<void>(ThreadStates::stop_world());
    meta_.set_min_block_spacing(bytes);
    ThreadStates::resume_world();
  }

  // Internal calls are calls by the tracker or its tools, not by the program.

  static bool is_internal_call(const CallOrigin& origin) noexcept {
    if constexpr (kConfig.is_internal_call) {
      return Config::is_internal_call(origin);
    }
    return false;
  }

  /// Returns whether `is_internal_call` can still return true for some call. If so, every call must
  /// be checked, which costs as much as sampling saves.
  static bool may_have_internal_calls() noexcept {
    if constexpr (kConfig.may_have_internal_calls) {
      return Config::may_have_internal_calls();
    }
    return kConfig.is_internal_call;
  }

  /// Runs once; only for hooks that receive calls before the tracker starts.
  static void on_first_call() noexcept {
    in_first_call_ = true;
    if constexpr (kConfig.on_first_call) Config::on_first_call();
    in_first_call_ = false;
  }
  /// Returns whether the first hooked call is running, so that no block exists yet.
  static bool in_first_call() noexcept { return in_first_call_; }

  // Implementations of `EventSink`, `SkippingSink` and `TimingSink`.

  static constexpr bool leaves_errno_alone = true;

  template <class BytesOf>
  ALLOCTAP_ALWAYS_INLINE static bool try_skip(const void* block, const BytesOf& bytes_of) noexcept {
    return sampled_heap_.try_skip(block, bytes_of);
  }
  ALLOCTAP_ALWAYS_INLINE static bool try_skip_free(const void* block) noexcept {
    return sampled_heap_.try_skip_free(block);
  }

  ALLOCTAP_ALWAYS_INLINE static void on_allocate(const AllocationEvent& event) noexcept {
    if (try_skip(event.pointer, [&] { return event.size; })) return;
    on_allocate_sampled_in(copy_of(event));
  }
  ALLOCTAP_ALWAYS_INLINE static void on_deallocate(const DeallocationEvent& event) noexcept {
    if (try_skip_free(event.pointer)) return;
    on_deallocate_sampled_in(event.pointer, event.origin);
  }

  ALLOCTAP_ALWAYS_INLINE static void on_allocate_sampled_in(const AllocationEvent& event) noexcept {
    if constexpr (kMaySample) {
      allocate_or_sample(event);
    } else {
      allocate(event);
    }
  }
  ALLOCTAP_ALWAYS_INLINE static void on_deallocate_sampled_in(void* pointer,
                                                              const CallOrigin& origin) noexcept {
    if constexpr (kMaySample) {
      deallocate_or_sample(pointer, copy_of(origin));
    } else {
      deallocate(pointer, origin);
    }
  }

  static DetachedBlock begin_reallocate(const DeallocationEvent& event) noexcept {
    if (samples()) return sampled_heap_.begin_reallocate(event);
    const ErrnoSafeRecordingScope scope;
    ThreadStats* stats = stats_for(scope.thread(), event.origin);
    if (stats == nullptr) return {};
    stats->moved.begin(event.pointer);
    const BlockRecord record = take(event.pointer);
    stats->moved.bytes = record.size;
    if constexpr (kNotifies) Notifier::notify_free(stacks_, event.pointer, record);
    return {.pointer = event.pointer, .record = record, .known = record.stack != kNoStackId};
  }

  static void cancel_reallocate(const DetachedBlock& block) noexcept {
    if (samples()) return sampled_heap_.cancel_reallocate(block);
    const RecordingScope scope;
    ThreadStats* stats = block.known ? mine() : nullptr;
    if (stats == nullptr) return;
    put_back(block.pointer, block.record);
    stats->moved = {};
    if constexpr (kNotifies) Notifier::notify_realloc_failed(stacks_, block.pointer, block.record);
  }

  static void finish_reallocate(const DetachedBlock& block) noexcept {
    if (samples()) return sampled_heap_.finish_reallocate(block);
    const RecordingScope scope;
    ThreadStats* stats = block.known ? mine() : nullptr;
    if (stats != nullptr) stats->last.note_free(block.pointer, scope.thread()->generation);
  }

  // Events of mappings, which bypass the queue.

  static void on_map(const MappingEvent& event) noexcept {
    if (!records_mappings()) return;
    const RecordingScope scope;
    ThreadStats* stats = stats_for(scope.thread(), event.origin);
    if (stats == nullptr) return;
    meta_.mappings().map(reinterpret_cast<std::uintptr_t>(event.address), event.length,
                         capture(*scope.thread(), *stats, event.origin));
    Notifier::notify_map({.address = event.address, .length = event.length});
  }

  static DetachedMappings begin_unmap(const MappingEvent& event) noexcept {
    if (!records_mappings()) return {};
    const RecordingScope scope;
    if (stats_for(scope.thread(), event.origin) == nullptr) return {};
    DetachedMappings detached =
        meta_.mappings().begin_unmap(reinterpret_cast<std::uintptr_t>(event.address), event.length);
    detached.address = event.address;
    detached.length = event.length;
    Notifier::notify_unmap({.address = event.address, .length = event.length});
    return detached;
  }

  static void cancel_unmap(DetachedMappings& detached) noexcept {
    const RecordingScope scope;
    meta_.mappings().cancel_unmap(detached);
    if (detached.length == 0) return;
    Notifier::notify_map({.address = detached.address, .length = detached.length});
  }

  static void finish_unmap(DetachedMappings& detached) noexcept {
    if (!records_mappings()) return;
    const RecordingScope scope;
    meta_.mappings().finish_unmap(detached);
  }

  static void on_modules_unloading() noexcept { modules_.update(); }
  static void on_modules_unloaded() noexcept { modules_.on_modules_unloaded(); }

  /// Starts timing a call. Internal calls are timed, too.
  ALLOCTAP_ALWAYS_INLINE static const TimedCall* begin_timing(AllocatorCall call,
                                                              std::size_t bytes) noexcept
    requires(kObserverFeatures<typename Config::Observers>.begin_timing)
  {
    return Config::Observers::begin_timing(call, bytes);
  }

  ALLOCTAP_NOINLINE static void end_timing(const TimedCall& timed) noexcept
    requires(kObserverFeatures<typename Config::Observers>.begin_timing)
  {
    const ErrnoSafeRecordingScope scope;
    if (scope.thread() == nullptr) return;
    Config::Observers::end_timing(timed, Config::Tags::current(*scope.thread()));
  }

  // Functions for derived recorders and for the parts of the recorder.

  /// Returns the calling thread's stats, created if needed; nullptr if out of memory.
  static ThreadStats* mine() noexcept { return threads_.mine(); }

  /// Calls `stats_for` for the calling thread, inside a new recording scope.
  static ThreadStats* stats_outside(const CallOrigin& origin) noexcept {
    const RecordingScope scope;
    return stats_for(scope.thread(), origin);
  }

  /// Captures and interns the stack of a call. Runs inside malloc.
  static StackId capture(ThreadState& thread, ThreadStats& stats,
                         const CallOrigin& origin) noexcept {
    const IdentifiedStack identified = identify_stack<Stack>(thread, origin, max_frames());
    count_incomplete(stats, identified.stack);
    return intern(thread, identified);
  }

  static constexpr bool kKeepsPeak = kDeliversAtOnce;
  static void on_peak_passed(const BlockRecord& gone) noexcept {
    peak_.on_peak_passed(gone, data());
  }

 private:
  using Stack = typename Config::Stack;
  using Tags = typename Config::Tags;
  using Notifier = ObserverNotifier<Config>;

  static constexpr bool kNotifies = Notifier::kNotifies;
  static constexpr bool kHasQueue = !std::is_same_v<typename Config::Queue, DirectQueue>;

  /// Whether fast paths preserve errno. If so, only slow paths save and restore errno.
  static constexpr bool kCallsLeaveErrnoAlone =
      !kNotifies && features_of<QueueFeatures, Queue>().leaves_errno_alone &&
      features_of<IndexFeatures, Meta>().leaves_errno_alone &&
      (kHasNoOwners<Tags> || features_of<TagFeatures, Tags>().leaves_errno_alone);
  /// Whether the index lookup of a new block starts before its stack is known.
  static constexpr bool kExpects = !kHasQueue && features_of<IndexFeatures, Meta>().expect;
  using EventScope =
      std::conditional_t<kCallsLeaveErrnoAlone, RecordingScope, ErrnoSafeRecordingScope>;

  /// Whether a free is looked up before its origin is classified. Internal calls never record
  /// blocks, so only frees of unknown blocks are classified.
  static constexpr bool kFiltersUnknownFrees = !kNotifies && !kHasQueue;

  static void for_each_live(RecordedData::BlockVisitor visit) noexcept {
    if (samples()) return sampled_heap_.for_each_live(visit);
    meta_.for_each(visit);
  }

  static void for_each_table(
      FunctionRef<void(const void* start, std::size_t bytes)> visit) noexcept {
    visit(&meta_, sizeof meta_);
    visit(&queue_, sizeof queue_);
    visit(&sampled_heap_, sizeof sampled_heap_);
  }

  static SamplingView sampling() noexcept {
    SamplingView view{.policy = Sampling::description(), .weight = &Sampling::weight};
    if constexpr (kMaySample) {
      if (!Sampling::records_everything()) {
        view.estimate = [](StackId stack) noexcept { return sampled_heap_.estimates().of(stack); };
      }
    }
    return view;
  }

  /// Returns whether the session samples. Constant false if the policy never samples, so that the
  /// sampled heap is compiled out.
  ALLOCTAP_ALWAYS_INLINE static bool samples() noexcept { return kMaySample && mode_.samples(); }

  // The path of an event.

  /// Not inlined, so that the fast path of skipped calls needs few registers.
  ALLOCTAP_NOINLINE static void allocate_or_sample(const AllocationEvent& event) noexcept {
    if (samples()) return sampled_heap_.apply(event);
    allocate(event);
  }
  ALLOCTAP_NOINLINE static void deallocate_or_sample(void* pointer,
                                                     const CallOrigin& origin) noexcept {
    if (samples()) {
      return sampled_heap_.apply(DeallocationEvent{.pointer = pointer, .origin = origin});
    }
    deallocate(pointer, origin);
  }

  ALLOCTAP_ALWAYS_INLINE static void deallocate(void* pointer, const CallOrigin& origin) noexcept {
    // The allocator is about to write to the freed block, so prefetch it during the lookup.
    ALLOCTAP_PREFETCH_FOR_WRITING(pointer);
    const EventScope scope;
    ThreadStats* stats = kFiltersUnknownFrees ? stats_unfiltered(scope.thread(), origin)
                                              : stats_for(scope.thread(), origin);
    if (stats == nullptr) return;
    stats->last.note_free(pointer, scope.thread()->generation);
    if constexpr (kNotifies) {
      Notifier::notify_free(stacks_, pointer, take(pointer));
    } else if constexpr (kFiltersUnknownFrees) {
      const bool known = Blocks::record_known_deallocation(pointer, *stats);
      if (!known) [[unlikely]] {
        count_unmatched(*stats, origin);
      }
    } else {
      queue_.push_deallocation(pointer);
    }
  }

  ALLOCTAP_ALWAYS_INLINE static void allocate(const AllocationEvent& event) noexcept {
    const EventScope scope;
    ThreadStats* stats = stats_unfiltered(scope.thread(), event.origin);
    if (stats == nullptr) return;
    if (mode_.any()) [[unlikely]] {
      return allocate_selected(*scope.thread(), *stats, copy_of(event));
    }
    allocate(*scope.thread(), *stats, event);
  }

  /// Slow path: recording is paused, or the policy must decide about each allocation.
  ALLOCTAP_NOINLINE static void allocate_selected(ThreadState& thread, ThreadStats& stats,
                                                  const AllocationEvent& event) noexcept {
    if (is_internal_call(event.origin)) return;
    stats.last.forget();
    if (mode_.paused()) return;
    const os::ErrnoGuard preserve_error;
    const SampleDecision decision = Sampling::decide(thread, event.size);
    if (decision == SampleDecision::kWithStack) return allocate(thread, stats, event);
    record(thread, event, stats, kStackNotTaken,
           stats.stacks.find_or_add(kHashOfNotTaken, kStackNotTaken));
  }

  ALLOCTAP_ALWAYS_INLINE static void allocate(ThreadState& thread, ThreadStats& stats,
                                              const AllocationEvent& event) noexcept {
    const auto expected = expect(event.pointer);
    RememberedStack* const recalled = recall(thread, stats, event.origin);
    if (recalled != nullptr) [[likely]] {
      StackTotals::Entry* const entry =
          stats.stacks.find_at(recalled->place, hash_of(thread, recalled->hash));
      if (entry != nullptr) [[likely]] {
        return record(thread, event, stats, entry->stack, entry, expected);
      }
    }
    allocate_uncached(thread, stats, copy_of(event), recalled, expected);
  }

  /// Slow path: the stack is not cached, or the thread has no `StackTotals` entry at the cached
  /// slot. Does not cache stacks of internal calls. Takes a copy, so that the caller's event stays
  /// in registers.
  template <class Expected>
  ALLOCTAP_NOINLINE static void allocate_uncached(ThreadState& thread, ThreadStats& stats,
                                                  const AllocationEvent& event,
                                                  RememberedStack* recalled,
                                                  Expected expected) noexcept {
    if (is_internal_call(event.origin)) return;
    const os::ErrnoGuard preserve_error;
    stats.last.forget();
    const IdentifiedStack identified = identify_uncached(thread, event.origin, recalled);
    if (recalled == nullptr) count_incomplete(stats, identified.stack);
    StackTotals::Entry* entry =
        stats.stacks.find(hash_of(thread, identified.hash), identified.place);
    if (entry != nullptr) [[likely]] {
      return record(thread, event, stats, entry->stack, entry, expected);
    }
    allocate_first(thread, stats, event, identified);
  }

  /// Slow path: the thread's first allocation with this stack. All stacks that could not be
  /// interned share one entry, so that the next allocation tries to intern again.
  ALLOCTAP_NOINLINE static void allocate_first(ThreadState& thread, ThreadStats& stats,
                                               const AllocationEvent& event,
                                               const IdentifiedStack& identified) noexcept {
    const StackId stack = intern(thread, identified);
    const StackHash hash = stack == kUnknownStack ? StackHash{} : hash_of(thread, identified.hash);
    record(thread, event, stats, stack, stats.stacks.find_or_add(hash, stack));
  }

  /// Counts an allocation and stores its record; `entry` has the stack's counters, or is null.
  template <class Expected = std::nullptr_t>
  ALLOCTAP_ALWAYS_INLINE static void record(ThreadState& thread, const AllocationEvent& event,
                                            ThreadStats& stats, StackId stack,
                                            StackTotals::Entry* entry,
                                            Expected expected = {}) noexcept {
    stats.recorded.count_allocation(event.size);
    if (entry != nullptr) [[likely]] {
      StackTotals::count(*entry, event.size);
      stats.last.remember(event.pointer, entry, thread.generation);
    } else {
      ++stats.events.dropped;
    }
    const RecordedAllocation allocation{.pointer = event.pointer,
                                        .record = {.stack = stack, .size = event.size}};
    hand_on(allocation, stats, expected);
    if constexpr (kNotifies) {
      Notifier::notify_alloc(thread, event.pointer, allocation.record);
      Notifier::notify_realloc(stacks_, event, allocation.record);
    }
  }

  // Access to the stats of a thread.

  /// Returns the stats of `thread`, which is in a recording scope. Returns nullptr if `thread` is
  /// null, if out of memory, or for an internal call.
  ALLOCTAP_ALWAYS_INLINE static ThreadStats* stats_for(ThreadState* thread,
                                                       const CallOrigin& origin) noexcept {
    if (is_internal_call(origin)) return nullptr;
    ThreadStats* stats = thread == nullptr ? nullptr : threads_.of(*thread);
    if (stats == nullptr) [[unlikely]] {
      threads_.count_dropped();
    }
    return stats;
  }

  /// Like `stats_for`, but if the thread already has stats, does not check for an internal call:
  /// the caller must check later.
  ALLOCTAP_ALWAYS_INLINE static ThreadStats* stats_unfiltered(ThreadState* thread,
                                                              const CallOrigin& origin) noexcept {
    ThreadStats* stats = thread == nullptr ? nullptr : threads_.get_if_exists(*thread);
    return stats != nullptr ? stats : make_stats(thread, origin);
  }

  /// Takes the origin by value, so that the caller's `origin` can stay in registers.
  ALLOCTAP_NOINLINE static ThreadStats* make_stats(ThreadState* thread,
                                                   CallOrigin origin) noexcept {
    return stats_for(thread, origin);
  }

  ALLOCTAP_NOINLINE static void count_unmatched(ThreadStats& stats, CallOrigin origin) noexcept {
    if (!is_internal_call(origin)) ++stats.events.unmatched_frees;
  }

  // Capture and interning of stacks.

  ALLOCTAP_ALWAYS_INLINE static void count_incomplete(ThreadStats& stats,
                                                      const CapturedStack& stack) noexcept {
    if (!stack.is_whole()) [[unlikely]] {
      count_incomplete_slow(stats, stack);
    }
  }

  ALLOCTAP_NOINLINE static void count_incomplete_slow(ThreadStats& stats,
                                                      CapturedStack stack) noexcept {
    if (stack.by_records) ++stats.events.frame_pointer_unwinds;
    if (stack.failed) ++stats.events.failed_unwinds;
    if (stack.truncated) ++stats.events.truncated_stacks;
  }

  /// Returns the stack of a call if the stack capture has cached it; otherwise nullptr.
  ALLOCTAP_ALWAYS_INLINE static RememberedStack* recall(ThreadState& thread, ThreadStats& stats,
                                                        const CallOrigin& origin) noexcept {
    if constexpr (RecallingStackCapture<Stack>) {
      RememberedStack* const recalled = Stack::recall(thread, origin, max_frames());
      if (recalled != nullptr) count_incomplete(stats, recalled->stack);
      return recalled;
    } else {
      return nullptr;
    }
  }

  /// Returns the stack of a call; `recalled` is what `recall` returned for it. The caller counts
  /// incomplete stacks, because a copy of the result here would stall on store forwarding.
  ALLOCTAP_ALWAYS_INLINE static IdentifiedStack identify_uncached(
      ThreadState& thread, const CallOrigin& origin, RememberedStack* recalled) noexcept {
    if constexpr (RecallingStackCapture<Stack>) {
      return Stack::identify_uncached(thread, origin, max_frames(), recalled);
    } else {
      return identify_stack<Stack>(thread, origin, max_frames());
    }
  }

  /// Returns the hash of a stack: its `frames` and the thread's current owner. The capture caches
  /// the hash of the frames alone, so that a change of tag does not invalidate the cache.
  ALLOCTAP_ALWAYS_INLINE static decltype(auto) hash_of(const ThreadState& thread,
                                                       const StackHash& frames) noexcept {
    if constexpr (kHasNoOwners<Tags>) {
      return (frames);
    } else {
      return frames.owned_by(Tags::current(thread));
    }
  }

  static StackId intern(ThreadState& thread, const IdentifiedStack& identified) noexcept {
    const StackOwner owner = Tags::current(thread);
    const StackHash hash = identified.hash.owned_by(owner);
    const StackId known = stacks_.find(hash);
    if (known != kNoStackId) return known;
    return stacks_.intern_program(hash, frames_of<Stack>(thread, identified), owner);
  }

  // Dispatch of records to the container, directly or by the queue.

  /// Starts the index lookup of a new block before its stack is known, to overlap cache misses.
  ALLOCTAP_ALWAYS_INLINE static auto expect(const void* pointer) noexcept {
    if constexpr (kExpects) {
      return Blocks::expect(pointer);
    } else {
      return nullptr;
    }
  }

  template <class Expected>
  ALLOCTAP_ALWAYS_INLINE static void hand_on(const RecordedAllocation& allocation,
                                             ThreadStats& stats, Expected expected) noexcept {
    if constexpr (kExpects) {
      Blocks::record_expected(allocation, expected, stats);
    } else if constexpr (!kHasQueue) {
      Blocks::record_allocation(allocation);
    } else {
      queue_.push_allocation(allocation);
    }
  }

  ALLOCTAP_ALWAYS_INLINE static BlockRecord take(void* pointer) noexcept {
    if constexpr (kHasQueue) return queue_.take(pointer);
    return Blocks::take(pointer);
  }

  static void put_back(void* pointer, const BlockRecord& record) noexcept {
    if constexpr (kHasQueue) return queue_.put_back(pointer, record);
    Blocks::put_back(pointer, record);
  }

  /// Copies field by field, so that the original stays in registers in calls that are skipped.
  ALLOCTAP_ALWAYS_INLINE static AllocationEvent copy_of(const AllocationEvent& event) noexcept {
    return {.pointer = event.pointer,
            .size = event.size,
            .alignment = event.alignment,
            .kind = event.kind,
            .heap = event.heap,
            .origin = copy_of(event.origin),
            .reallocated = event.reallocated};
  }
  ALLOCTAP_ALWAYS_INLINE static CallOrigin copy_of(const CallOrigin& origin) noexcept {
    return {.caller = origin.caller,
            .frame = origin.frame,
            .place = origin.place,
            .allocator = origin.allocator};
  }

  static void on_module_notice(const os::ModuleNotice& notice) noexcept {
    modules_.on_notice(notice);
  }

  static constexpr UnloadedModuleQueue* departed_modules() noexcept {
    if constexpr (os::kLoaderGivesNotice) return &departed_modules_;
    return nullptr;
  }

  static constexpr auto forget_code() noexcept -> void (*)() noexcept {
    if constexpr (features_of<StackFeatures, Stack>().forget_unloaded_modules) {
      return []() noexcept { Stack::forget_unloaded_modules(); };
    }
    return nullptr;
  }

  /// The hash of the pseudo-stack `kStackNotTaken`.
  static constexpr StackHash kHashOfNotTaken{.first = 1, .second = 1};

  static inline constinit RecordingMode mode_;
  static inline constinit Meta meta_;
  static inline constinit Blocks blocks_;
  static inline constinit Queue queue_{blocks_};
  static inline constinit SampledHeapFor<Recorder, Sampling> sampled_heap_;
  static inline constinit ThreadStatsTable threads_;
  static inline constinit StackTable stacks_;
  static inline constinit PeakTracker peak_;
  static inline constinit Timeline timeline_;
  static inline constinit UnloadedModuleQueue departed_modules_;
  static inline constinit ModuleTracker modules_{{.stacks = stacks_,
                                                  .threads = threads_,
                                                  .departed = departed_modules(),
                                                  .forget_code = forget_code(),
                                                  .symbolize = &Config::Symbolizer::symbolize,
                                                  .listener = &on_module_notice}};
  static inline constinit std::atomic<std::uint32_t> max_frames_{Config::limits.max_frames};
  static inline constinit std::atomic<bool> records_mappings_{true};
  static inline constinit bool in_first_call_ = false;
};

}  // namespace alloctap
