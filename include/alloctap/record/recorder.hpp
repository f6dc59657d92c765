/// The recording half of a tracker: what a hook feeds and what a snapshot reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "alloctap/config.hpp"
#include "alloctap/event/event_sink.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/errno_guard.hpp"
#include "alloctap/record/block_tracker.hpp"
#include "alloctap/record/detour_recorder.hpp"
#include "alloctap/record/mapping_recorder.hpp"
#include "alloctap/record/module_tracker.hpp"
#include "alloctap/record/observer_recorder.hpp"
#include "alloctap/record/peak_recorder.hpp"
#include "alloctap/record/sampled_heap.hpp"
#include "alloctap/record/stack_recorder.hpp"
#include "alloctap/record/thread_stats.hpp"
#include "alloctap/record/timeline_recorder.hpp"
#include "alloctap/record/totals_recorder.hpp"
#include "alloctap/runtime/errno_safe_recording_scope.hpp"
#include "alloctap/runtime/thread_state.hpp"
#include "alloctap/stack/identified_stack.hpp"
#include "alloctap/stack/stack_table.hpp"

namespace alloctap {

/// The tables of one tracker and the way of an event into them: sample, stack, queue, container. It
/// is the `EventSink` that the tracker's hook feeds. All static; constant-initialized, so events
/// may come before constructors; deliberately never destroyed, so they may come after destructors.
///
/// What is counted per event is counted in memory of the calling thread (`ThreadStats`): no two
/// threads write one cache line for it.
template <class Config>
class Recorder : public DetourRecorder<Recorder<Config>, Config>,
                 public MappingRecorder<Recorder<Config>>,
                 public ObserverRecorder<Recorder<Config>, Config>,
                 public PeakRecorder<Recorder<Config>>,
                 public StackRecorder<Config>,
                 public TimelineRecorder<Recorder<Config>>,
                 public TotalsRecorder<Recorder<Config>, Config> {
 public:
  using Meta = typename Config::Meta;
  using Books = BlockTracker<Meta, Recorder>;
  using Queue = typename Config::Queue::template For<Books>;
  using Sampling = typename Config::Sampling;
  using Observers = typename Config::Observers;
  using Epochs = ModuleTracker<Recorder, Config>;

  static Meta& meta() noexcept { return meta_; }
  static auto& queue() noexcept { return queue_; }

  /// For a hook that knows how far apart blocks begin, before any of them is recorded, and a
  /// container that asks for it.
  static void set_min_block_spacing(std::size_t bytes) noexcept
    requires requires(Meta& meta) { meta.set_min_block_spacing(bytes); }
  {
    // So that every thread that records afterwards knows of it.
    static_cast<void>(ThreadStates::close_gate());
    meta_.set_min_block_spacing(bytes);
    ThreadStates::open_gate();
  }
  static Books& books() noexcept { return books_; }

  /// Whether `sampling().estimates` may ever be there.
  static constexpr bool kMaySample = !kNeverSamples<Sampling>;

  static SamplingView sampling() noexcept {
    return {.policy = Sampling::description(),
            .weight = &Sampling::weight,
            .estimates = Sampling::records_everything() ? nullptr : sample_books_.estimates()};
  }

  /// Calls `visit(const auto&)` for each variable that may hold the program's pointers.
  static void for_each_table(auto&& visit) { (visit(meta_), visit(queue_), visit(sample_books_)); }

  static std::uint64_t peak_live_bytes() noexcept { return books_.peak_live_bytes(); }
  /// Calls `visit(const void*, const BlockRecord&)` for each block that a report counts as live.
  template <class Visit>
  static void for_each_live(Visit&& visit) {
    if (samples()) return sample_books_.for_each_live(visit);
    meta_.for_each_live(visit);
  }

  static constexpr bool leaves_errno_alone = true;

  static DetachedBlock begin_reallocate(const DeallocationEvent& event) noexcept {
    if (samples()) return sample_books_.begin_reallocate(event);
    const ErrnoSafeRecordingScope section;
    ThreadStats* totals = ready(section.thread(), event.origin);
    if (totals == nullptr) return {};
    totals->moved.begin(event.pointer);
    const BlockRecord record = queue_.take(event.pointer);
    totals->moved.bytes = record.size;
    if constexpr (kObserves<Observers>) notify_free(event.pointer, record);
    return {.pointer = event.pointer, .record = record, .known = record.stack != kNoStackId};
  }

  static void cancel_reallocate(const DetachedBlock& block) noexcept {
    if (samples()) return sample_books_.cancel_reallocate(block);
    const RecordingScope section;
    if (!block.known || Totals::mine() == nullptr) return;
    queue_.put_back(block.pointer, block.record);
    Totals::mine()->moved = {};
    if constexpr (kObserves<Observers>) notify_realloc_failed(block.pointer, block.record);
  }

  static void finish_reallocate(const DetachedBlock& block) noexcept {
    if (samples()) return sample_books_.finish_reallocate(block);
    const RecordingScope section;
    ThreadStats* totals = block.known ? Totals::mine() : nullptr;
    if (totals != nullptr) totals->last.note_free(block.pointer, section.thread()->generation);
  }

  static void on_modules_unloading() noexcept { Epochs::update(); }
  static void on_modules_unloaded() noexcept { Epochs::on_modules_unloaded(); }

 private:
  using Detoured = DetourRecorder<Recorder, Config>;
  using Detoured::detours_;
  using Detoured::samples;
  using ObserverRecorder<Recorder, Config>::notify_realloc_failed;
  using ObserverRecorder<Recorder, Config>::notify_free;
  using ObserverRecorder<Recorder, Config>::notify_alloc;
  using ObserverRecorder<Recorder, Config>::notify_realloc;
  using Stacks = StackRecorder<Config>;
  using Stacks::count_incomplete;
  using Stacks::hash_of;
  using Stacks::identify_uncached;
  using Stacks::intern;
  using Stacks::recall;
  using Totals = TotalsRecorder<Recorder, Config>;
  using Totals::ready;
  using Totals::stats_unfiltered;

  friend DetourRecorder<Recorder, Config>;
  friend MappingRecorder<Recorder>;
  friend Epochs;

  /// For an event that takes the usual way: most touch nothing that changes the error number, and
  /// what is called on the way of the others keeps it.
  static constexpr bool kCallsLeaveErrnoAlone = !kObserves<Observers> && requires {
    requires Queue::leaves_errno_alone;
    requires Meta::leaves_errno_alone;
    requires kTellsNobody<typename Config::Tags> ||
                 requires { requires Config::Tags::leaves_errno_alone; };
  };
  using EventSection =
      std::conditional_t<kCallsLeaveErrnoAlone, RecordingScope, ErrnoSafeRecordingScope>;

  /// Whether a free need be the program's only where its block is not known: what is known was the
  /// program's.
  static constexpr bool kAsksWhoseFreeLater =
      !kObserves<Observers> && requires(Queue& queue, ThreadStats& totals) {
        queue.push_known_deallocation(nullptr, totals);
      };

  ALLOCTAP_NOINLINE static void count_unmatched(ThreadStats& totals, CallOrigin origin) noexcept {
    if (!Totals::is_internal_call(origin)) ++totals.events.unmatched_frees;
  }

  /// No stack's.
  static constexpr StackHash kHashOfNotTaken{.first = 1, .second = 1};
  ALLOCTAP_ALWAYS_INLINE static void deallocate(void* pointer, const CallOrigin& origin) noexcept {
    // The allocator is about to touch the block: if it is not in the cache, let it come while the
    // record does, which is in another place.
    ALLOCTAP_PREFETCH_FOR_WRITING(pointer);
    const EventSection section;
    ThreadStats* totals = kAsksWhoseFreeLater ? stats_unfiltered(section.thread(), origin)
                                              : ready(section.thread(), origin);
    if (totals == nullptr) return;
    totals->last.note_free(pointer, section.thread()->generation);
    if constexpr (kObserves<Observers>) {
      notify_free(pointer, queue_.take(pointer));
    } else if constexpr (kAsksWhoseFreeLater) {
      const bool known = queue_.push_known_deallocation(pointer, *totals);
      if (!known) [[unlikely]] {
        count_unmatched(*totals, origin);
      }
    } else if constexpr (requires { queue_.push_deallocation(pointer, *totals); }) {
      queue_.push_deallocation(pointer, *totals);
    } else {
      queue_.push_deallocation(pointer);
    }
  }

  ALLOCTAP_ALWAYS_INLINE static void allocate(const AllocationEvent& event) noexcept {
    const EventSection section;
    ThreadStats* totals = stats_unfiltered(section.thread(), event.origin);
    if (totals == nullptr) return;
    if (detours_.any()) [[unlikely]] {
      return allocate_on_detour(*section.thread(), *totals, Detoured::copy_of(event));
    }
    allocate(*section.thread(), *totals, event);
  }

  /// An allocation while recording is paused, or that the policy decides on.
  ALLOCTAP_NOINLINE static void allocate_on_detour(ThreadState& thread, ThreadStats& totals,
                                                   const AllocationEvent& event) noexcept {
    if (Totals::is_internal_call(event.origin)) return;
    totals.last.forget();
    if (detours_.paused()) return;
    const os::ErrnoGuard preserve_error;
    const SampleDecision decision = Sampling::decide(thread, event.size);
    if (decision == SampleDecision::kWithStack) return allocate(thread, totals, event);
    record(thread, event, totals, kStackNotTaken,
           totals.stacks.find_or_add(kHashOfNotTaken, kStackNotTaken));
  }

  ALLOCTAP_ALWAYS_INLINE static void allocate(ThreadState& thread, ThreadStats& totals,
                                              const AllocationEvent& event) noexcept {
    const auto expected = expect(event.pointer);
    RememberedStack* const recalled = recall(thread, totals, event.origin);
    if (recalled != nullptr) [[likely]] {
      StackTotals::Entry* const entry =
          totals.stacks.find_at(recalled->place, hash_of(thread, recalled->hash));
      if (entry != nullptr) [[likely]] {
        return record(thread, event, totals, entry->stack, entry, expected);
      }
    }
    allocate_anew(thread, totals, Detoured::copy_of(event), recalled, expected);
  }

  /// From a stack that does not come again and again, which is not remembered where the call is not
  /// the program's. The event is a copy, because the one that it was made of is not in memory.
  template <class Expected>
  ALLOCTAP_NOINLINE static void allocate_anew(ThreadState& thread, ThreadStats& totals,
                                              const AllocationEvent& event,
                                              RememberedStack* recalled,
                                              Expected expected) noexcept {
    if (Totals::is_internal_call(event.origin)) return;
    const os::ErrnoGuard preserve_error;
    totals.last.forget();
    const IdentifiedStack identified = identify_uncached(thread, event.origin, recalled);
    if (recalled == nullptr) count_incomplete(totals, identified.stack);
    StackTotals::Entry* entry =
        totals.stacks.find(hash_of(thread, identified.hash), identified.place);
    if (entry != nullptr) [[likely]] {
      return record(thread, event, totals, entry->stack, entry, expected);
    }
    allocate_first(thread, totals, event, identified);
  }

  /// The first allocation of a thread with that stack. Stacks that could not be kept share one
  /// entry, so that each is tried again next time.
  ALLOCTAP_NOINLINE static void allocate_first(ThreadState& thread, ThreadStats& totals,
                                               const AllocationEvent& event,
                                               const IdentifiedStack& identified) noexcept {
    const StackId stack = intern(thread, identified);
    const StackHash hash = stack == kUnknownStack ? StackHash{} : hash_of(thread, identified.hash);
    record(thread, event, totals, stack, totals.stacks.find_or_add(hash, stack));
  }

  /// What the queue makes of knowing an allocation before its stack is known.
  ALLOCTAP_ALWAYS_INLINE static auto expect(const void* pointer) noexcept {
    if constexpr (requires { queue_.expect_allocation(pointer); }) {
      return queue_.expect_allocation(pointer);
    } else {
      return nullptr;
    }
  }

  /// Counts and hands on an allocation; `entry` is nullptr where there is no memory to count it.
  template <class Expected = std::nullptr_t>
  ALLOCTAP_ALWAYS_INLINE static void record(ThreadState& thread, const AllocationEvent& event,
                                            ThreadStats& totals, StackId stack,
                                            StackTotals::Entry* entry,
                                            Expected expected = {}) noexcept {
    totals.recorded.count_allocation(event.size);
    if (entry != nullptr) [[likely]] {
      StackTotals::count(*entry, event.size);
      totals.last.remember(event.pointer, entry, thread.generation);
    } else {
      ++totals.events.dropped;
    }
    const RecordedAllocation allocation{.pointer = event.pointer,
                                        .record = {.stack = stack, .size = event.size}};
    if constexpr (requires { queue_.push_expected(allocation, expected, totals); }) {
      queue_.push_expected(allocation, expected, totals);
    } else {
      queue_.push_allocation(allocation);
    }
    if constexpr (kObserves<Observers>) notify_alloc(thread, event.pointer, allocation.record);
    if constexpr (kObservesReallocations<Observers>) {
      notify_realloc(event, allocation.record);
    }
  }

  static inline constinit Meta meta_;
  static inline constinit Books books_;
  static constexpr bool kHasConstantQueue =
      requires { requires std::is_same_v<typename Queue::Unchanging, Queue>; };
  static inline constinit std::conditional_t<kHasConstantQueue, const Queue, Queue> queue_{books_};
  static inline constinit SampleBooksFor<Recorder, Sampling> sample_books_;
};

}  // namespace alloctap
