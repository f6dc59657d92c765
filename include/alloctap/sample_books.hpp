/// The books of a tracker while its policy samples.
#pragma once

#include <cstdint>

#include "alloctap/guard/thread_state.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/meta/bookkeeper.hpp"
#include "alloctap/sample/stack_estimates.hpp"
#include "alloctap/stack/stack_table.hpp"

namespace alloctap {

/// Applies samples to the container of `Books` with the weights of `Sampling`, and keeps the
/// estimates per stack. Samples come without a queue: they are few, and a free has to be told at
/// once whether its block is one. Thread-safe; runs inside malloc. Constant-initialized, never
/// destroyed.
///
/// `Recorder` is the one that it belongs to: it has the totals of threads, captures stacks, knows
/// of pauses.
template <class Recorder, SamplingPolicy Sampling, class Books>
class SampleBooks {
 public:
  constexpr explicit SampleBooks(Books& books) noexcept : books_(books) {}

  /// What an allocation that is not sampled costs is all in here: it touches memory of its thread
  /// alone, and waits for no snapshot.
  void on_allocate(const AllocationEvent& event) noexcept {
    ThreadTotals* totals = Recorder::totals_outside(event.origin);
    if (totals == nullptr) return;
    if (Recorder::detours().paused()) return totals->calls.forget_last();
    ThreadState& thread = *this_thread_slot.state;
    totals->calls.count_allocation(event.pointer, event.size, thread.generation);
    const SampleDecision decision = Sampling::decide(thread, event.size);
    if (decision != SampleDecision::kSkip) [[unlikely]] {
      record(event, decision);
    }
  }

  /// Likewise; most blocks have no record.
  void on_deallocate(const DeallocationEvent& event) noexcept {
    ThreadTotals* totals = Recorder::totals_outside(event.origin);
    if (totals == nullptr) return;
    totals->calls.count_deallocation();
    const bool temporary =
        totals->calls.count_temporary(event.pointer, this_thread_slot.state->generation);
    if (Recorder::meta().may_hold(event.pointer)) [[unlikely]] {
      remove(event.pointer, temporary);
    }
  }

  BlockRecord begin_reallocate(ThreadTotals& totals, void* block) noexcept {
    totals.calls.count_deallocation();
    return books_.template take<Weighted>(block);
  }

  void cancel_reallocate(ThreadTotals& totals, const DetachedBlock& block) noexcept {
    totals.calls.uncount_deallocation();
    if (block.known) books_.template put_back<Weighted>(block.pointer, block.record);
  }

  void finish_reallocate(ThreadTotals& totals, const DetachedBlock& block,
                         std::uint32_t generation) noexcept {
    const bool temporary = totals.calls.count_temporary(block.pointer, generation);
    if (temporary && block.known) add_temporary(block.record);
  }

  [[nodiscard]] const StackEstimates& estimates() const noexcept { return estimates_; }

 private:
  struct Weighted {
    static std::uint64_t bytes(const BlockRecord& record) noexcept {
      const double weighted = Sampling::weight(record.size) * static_cast<double>(record.size);
      return static_cast<std::uint64_t>(weighted + 0.5);
    }
  };

  ALLOCTAP_NOINLINE void record(const AllocationEvent& event, SampleDecision decision) noexcept {
    const RecordingSection section;
    ThreadTotals& totals = *Recorder::mine();
    const bool with_stack = decision == SampleDecision::kWithStack;
    const StackId stack =
        with_stack ? Recorder::capture(*section.thread(), totals, event.origin) : kStackNotTaken;
    if (!estimates_.add(stack, Sampling::weight(event.size), event.size)) ++totals.events.dropped;
    books_.template record_allocation<Weighted>(
        {.pointer = event.pointer, .record = {.stack = stack, .size = event.size}});
  }

  ALLOCTAP_NOINLINE void remove(void* block, bool temporary) noexcept {
    const RecordingSection section;
    const BlockRecord record = books_.template take<Weighted>(block);
    if (temporary && record.stack != kNoStackId) add_temporary(record);
  }

  void add_temporary(const BlockRecord& record) noexcept {
    estimates_.add_temporary(record.stack, Sampling::weight(record.size));
  }

  Books& books_;
  StackEstimates estimates_;
};

}  // namespace alloctap
