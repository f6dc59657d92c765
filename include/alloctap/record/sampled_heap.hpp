/// What a tracker records while its policy samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "alloctap/macros.hpp"
#include "alloctap/meta/flat_hash_index.hpp"
#include "alloctap/os/errno_guard.hpp"
#include "alloctap/os/thread_local.hpp"
#include "alloctap/record/block_tracker.hpp"
#include "alloctap/record/recorded_data.hpp"
#include "alloctap/record/recording_mode.hpp"
#include "alloctap/runtime/thread_state.hpp"
#include "alloctap/sample/address_filter.hpp"
#include "alloctap/sample/stack_estimates.hpp"
#include "alloctap/stack/stack_table.hpp"

namespace alloctap {

/// The samples and the estimates per stack. Samples are counted with the weights of `Sampling`.
/// They go to no queue: they are few, and a free has to know at once whether its block is one. They
/// have an index of their own, because they lie far apart. Only for sessions that sample.
///
/// `try_skip` is all that a call costs that has nothing to do with a sample: it touches memory of
/// its thread and reads a byte that hardly changes, waits for no snapshot, and is inlined into the
/// hooked function. A thread skips nothing before its first call went through `apply`. No thread
/// does while internal calls are possible: only `apply` tells them from the program's.
///
/// `Recorder` is its owner: it has the stats of threads and the mode, and captures stacks.
/// Thread-safe; runs inside malloc. Constant-initialized by zeros alone, because its 4 MiB would
/// else be in the program's file; never destroyed.
template <class Recorder, SamplingPolicy Sampling>
class SampledHeap {
 public:
  /// Whether there is nothing to do for an allocation any more: it was not sampled, and counted.
  template <class BytesOf>
  ALLOCTAP_ALWAYS_INLINE static bool try_skip(const void* block, const BytesOf& bytes_of) noexcept {
    return may_skip() && mine().calls->count_skipped(block, bytes_of());
  }

  /// Likewise for a free of a block that was not sampled.
  ALLOCTAP_ALWAYS_INLINE bool try_skip_free(const void* block) noexcept {
    if (!may_skip()) return false;
    SampledCalls* calls = mine().calls;
    if (calls->count_skipped_temporary(block)) return true;
    if (recorded_.may_hold(block)) return false;
    calls->count_lasting();
    return true;
  }

  /// What `try_skip` does not do.
  ALLOCTAP_NOINLINE void apply(const AllocationEvent& event) noexcept {
    const os::ErrnoGuard preserve_error;
    SampledCalls* calls = calls_for(event.origin);
    if (calls == nullptr) return;
    if (Recorder::mode().paused()) return calls->forget_last();
    calls->count_allocation(event.pointer, event.size);
    const SampleDecision decision = Sampling::decide(*this_thread_slot().state, event.size);
    if (decision == SampleDecision::kSkip) return;
    calls->note_sample();
    record(event, decision);
  }

  ALLOCTAP_NOINLINE void apply(const DeallocationEvent& event) noexcept {
    const os::ErrnoGuard preserve_error;
    SampledCalls* calls = calls_for(event.origin);
    if (calls == nullptr) return;
    calls->count_lasting();
    const bool temporary = calls->count_temporary(event.pointer);
    const BlockRecord record = take(event.pointer);
    if (temporary && record.stack != kNoStackId) add_temporary(record);
  }

  DetachedBlock begin_reallocate(const DeallocationEvent& event) noexcept {
    SampledCalls* calls = may_skip() ? mine().calls : calls_for(event.origin);
    if (calls == nullptr) return {};
    calls->count_lasting();
    const BlockRecord record = take(event.pointer);
    return {.pointer = event.pointer, .record = record, .known = record.stack != kNoStackId};
  }

  void cancel_reallocate(const DetachedBlock& block) noexcept {
    if (block.pointer == nullptr) return;
    Recorder::mine()->calls.uncount_lasting();
    if (!block.known) return;
    const RecordingScope section;
    recorded_.add(block.pointer);
    Recorder::Blocks::template count_put_back<Weighted>(
        block.record, samples_.insert(block.pointer, block.record).kept);
  }

  void finish_reallocate(const DetachedBlock& block) noexcept {
    if (block.pointer == nullptr) return;
    const bool temporary = Recorder::mine()->calls.count_temporary(block.pointer);
    if (temporary && block.known) add_temporary(block.record);
  }

  [[nodiscard]] const StackEstimates& estimates() const noexcept { return estimates_; }

  void for_each_live(RecordedData::BlockVisitor visit) { samples_.for_each(visit); }

 private:
  struct Weighted {
    static std::uint64_t bytes(const BlockRecord& record) noexcept {
      const double weighted = Sampling::weight(record.size) * static_cast<double>(record.size);
      return static_cast<std::uint64_t>(weighted + 0.5);
    }
  };

  /// What a thread counts in that may skip calls, while `RecordingMode::word` is `when`; zeros
  /// before.
  struct Skipping {
    std::uint64_t when = 0;
    SampledCalls* calls = nullptr;
  };

  /// The calling thread's.
  ALLOCTAP_ALWAYS_INLINE static Skipping& mine() noexcept {
    return os::ThreadLocal<Skipping, SampledHeap>::mine();
  }
  ALLOCTAP_ALWAYS_INLINE static bool may_skip() noexcept {
    return mine().when == Recorder::mode().word();
  }

  static void let_skip(SampledCalls& calls) noexcept {
    const std::uint64_t now = Recorder::mode().word();
    if (!RecordingMode::only_samples(now) || Recorder::may_have_internal_calls()) return;
    mine() = {.when = now, .calls = &calls};
  }

  /// What the calling thread counts in; nullptr where the call is not the program's, or the system
  /// has no memory.
  SampledCalls* calls_for(const CallOrigin& origin) noexcept {
    ThreadStats* stats = Recorder::stats_outside(origin);
    if (stats == nullptr) return nullptr;
    ThreadState& thread = *this_thread_slot().state;
    if (!stats->calls.has_begun(thread.generation)) {
      stats->calls.begin(countdown_of(thread), thread.generation);
    }
    let_skip(stats->calls);
    return &stats->calls;
  }

  static std::uint64_t& countdown_of(ThreadState& thread) noexcept {
    if constexpr (requires { Sampling::countdown(thread); }) {
      if (std::uint64_t* countdown = Sampling::countdown(thread)) return *countdown;
    }
    return stops_everything_;
  }

  void record(const AllocationEvent& event, SampleDecision decision) noexcept {
    const RecordingScope section;
    ThreadStats& stats = *Recorder::mine();
    const bool with_stack = decision == SampleDecision::kWithStack;
    const StackId stack =
        with_stack ? Recorder::capture(*section.thread(), stats, event.origin) : kStackNotTaken;
    if (!estimates_.add(stack, Sampling::weight(event.size), event.size)) ++stats.events.dropped;
    const BlockRecord record{.stack = stack, .size = event.size};
    const InsertOutcome outcome = samples_.insert(event.pointer, record);
    const bool is_new = outcome.kept && outcome.replaced.stack == kNoStackId;
    if (is_new) recorded_.add(event.pointer);
    Recorder::Blocks::template count_allocation<Weighted>(record, outcome);
  }

  /// The record of a sample, taken out; that of no stack where `block` is none.
  BlockRecord take(void* block) noexcept {
    if (!recorded_.may_hold(block)) return {};
    const RecordingScope section;
    const BlockRecord record = samples_.take(block);
    if (record.stack == kNoStackId) return {};
    recorded_.remove(block);
    Recorder::Blocks::template count_taken<Weighted>(record);
    return record;
  }

  void add_temporary(const BlockRecord& record) noexcept {
    estimates_.add_temporary(record.stack, Sampling::weight(record.size));
  }

  /// It lets nothing pass, so nobody ever writes it.
  static inline constinit std::uint64_t stops_everything_ = 0;

  AddressFilter recorded_;
  FlatHashIndex samples_;
  StackEstimates estimates_;
};

/// What a tracker has whose policy never samples.
struct NoSampledHeap {
  static bool try_skip(const void*, const auto&) noexcept { return false; }
  static bool try_skip_free(const void*) noexcept { return false; }
  static void apply(const auto&) noexcept {}
  static DetachedBlock begin_reallocate(const DeallocationEvent&) noexcept { return {}; }
  static void cancel_reallocate(const DetachedBlock&) noexcept {}
  static void finish_reallocate(const DetachedBlock&) noexcept {}
  static void for_each_live(const auto&) noexcept {}
};

template <class Recorder, SamplingPolicy Sampling>
using SampledHeapFor =
    std::conditional_t<kNeverSamples<Sampling>, NoSampledHeap, SampledHeap<Recorder, Sampling>>;

}  // namespace alloctap
