/// The sampled blocks and the per-stack estimates of sessions that sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "alloctap/macros.hpp"
#include "alloctap/meta/flat_hash_index.hpp"
#include "alloctap/os/thread_local.hpp"
#include "alloctap/record/block_tracker.hpp"
#include "alloctap/record/recorded_data.hpp"
#include "alloctap/record/recording_mode.hpp"
#include "alloctap/runtime/thread_state.hpp"
#include "alloctap/sample/sampled_blocks.hpp"
#include "alloctap/stack/stack_table.hpp"

namespace alloctap {

/// The sampled blocks, weighted by `Sampling`, and the per-stack estimates. Samples bypass the
/// queue, because samples are few and a free must learn at once whether its block is sampled. The
/// index is a hash table, because sampled blocks lie far apart. Used only in sessions that sample.
///
/// `try_skip` and `try_skip_free` are the whole cost of an unsampled call. They are inlined into
/// the hooked function, write only thread-local memory, read one byte of a rarely written filter,
/// and never wait for a snapshot. A thread's first call goes through `apply`. While internal calls
/// are possible, all calls go through `apply`, because only `apply` detects internal calls.
///
/// `Recorder` provides `ThreadStats` and `RecordingMode`, and captures stacks. Thread-safe; runs
/// inside malloc. Zero-initialized, so that its 4 MiB are in .bss; never destroyed.
template <class Recorder, SamplingPolicy Sampling>
class SampledHeap {
 public:
  /// Counts an unsampled allocation. Returns false if `apply` must handle the allocation.
  template <class BytesOf>
  ALLOCTAP_ALWAYS_INLINE static bool try_skip(const void* block, const BytesOf& bytes_of) noexcept {
    return may_skip() && mine().calls->count_skipped(block, bytes_of());
  }

  /// Counts the free of an unsampled block. Returns false if `apply` must handle the free.
  ALLOCTAP_ALWAYS_INLINE bool try_skip_free(const void* block) noexcept {
    if (!may_skip()) return false;
    SampledCalls* calls = mine().calls;
    if (calls->count_skipped_temporary(block)) return true;
    if (recorded_.may_hold(block)) return false;
    calls->count_lasting();
    return true;
  }

  /// Slow path: records or counts an allocation that `try_skip` rejected.
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

  /// The calling thread's counters. Calls may be skipped only while `RecordingMode::word` equals
  /// `when`.
  struct Skipping {
    std::uint64_t when = 0;
    SampledCalls* calls = nullptr;
  };

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

  /// Returns the calling thread's counters; nullptr for an internal call or if out of memory.
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
    if constexpr (features_of<SamplingFeatures, Sampling>().countdown) {
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

  /// Removes and returns the record of a block; `stack` is `kNoStackId` if the block is unsampled.
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

  /// A countdown that is always 0, so no allocation is skipped and it never changes.
  static inline constinit std::uint64_t stops_everything_ = 0;

  AddressFilter recorded_;
  FlatHashIndex samples_;
  StackEstimates estimates_;
};

/// Replaces `SampledHeap` in trackers whose policy never samples.
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
