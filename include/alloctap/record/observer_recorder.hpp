/// The part of a recorder that tells observers.
#pragma once

#include <cstddef>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/event/allocator_call.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/observe/observer.hpp"
#include "alloctap/os/errno_guard.hpp"
#include "alloctap/runtime/errno_safe_recording_scope.hpp"
#include "alloctap/runtime/thread_state.hpp"
#include "alloctap/stack/stack_table.hpp"
#include "alloctap/tag/tag_policy.hpp"

namespace alloctap {

/// Tells `Config::Observers` of blocks; for a `Recorder` that derives from it and has `stacks()`.
/// Inside malloc.
template <class Recorder, class Config>
class ObserverRecorder {
 public:
  using Observers = typename Config::Observers;

  /// Adds what observers know to `snapshot`; the caller has closed the gate. False where the system
  /// has no memory for it.
  template <class Snapshot>
  [[nodiscard]] static bool add_observed([[maybe_unused]] Snapshot& snapshot) noexcept
    requires kObserves<Observers>
  {
    if constexpr (requires { Observers::add_to(snapshot); }) return Observers::add_to(snapshot);
    return true;
  }

  /// As `TimingSink`; the time of calls that are not the program's is taken too.
  ALLOCTAP_ALWAYS_INLINE static const TimedCall* begin_timing(AllocatorCall call,
                                                              std::size_t bytes) noexcept
    requires TimingObserver<Observers>
  {
    return Observers::begin_timing(call, bytes);
  }

  ALLOCTAP_NOINLINE static void end_timing(const TimedCall& timed) noexcept
    requires TimingObserver<Observers>
  {
    const ErrnoSafeRecordingScope section;
    if (section.thread() == nullptr) return;
    Observers::end_timing(timed, Config::Tags::current(*section.thread()));
  }

 protected:
  /// These two leave errno to the caller. `thread` has just allocated the block.
  ALLOCTAP_ALWAYS_INLINE static void notify_alloc(const ThreadState& thread, void* pointer,
                                                  const BlockRecord& record) noexcept {
    ObservedBlock block = observed(pointer, record);
    // What the thread is doing now is the owner of a stack that it has just captured.
    if constexpr (kTellsOwners) {
      if (record.stack >= kFirstStack) block.owner = Config::Tags::current(thread);
    }
    Observers::on_track(block);
  }

  ALLOCTAP_ALWAYS_INLINE static void notify_free(void* pointer,
                                                 const BlockRecord& record) noexcept {
    if (record.stack == kNoStackId) return;
    Observers::on_untrack(with_owner(observed(pointer, record)));
  }

  /// A block that had gone is there again.
  static void notify_realloc_failed(void* pointer, const BlockRecord& record) noexcept {
    const os::ErrnoGuard preserve_error;
    Observers::on_track(with_owner(observed(pointer, record)));
  }

  /// Where `event`, whose block is now kept as `record`, is the second half of a reallocation of a
  /// block that was known.
  static void notify_realloc(const AllocationEvent& event, const BlockRecord& record) noexcept {
    if (event.reallocated == nullptr || !event.reallocated->known) return;
    const os::ErrnoGuard preserve_error;
    const DetachedBlock& before = *event.reallocated;
    Observers::on_reallocate(with_owner(observed(before.pointer, before.record)),
                             with_owner(observed(event.pointer, record)));
  }

 private:
  static constexpr bool kTellsOwners =
      kWantsOwners<Observers> && !kTellsNobody<typename Config::Tags>;

  ALLOCTAP_ALWAYS_INLINE static ObservedBlock observed(void* pointer,
                                                       const BlockRecord& record) noexcept {
    return {.pointer = pointer, .size = record.size, .stack = record.stack, .owner = {}};
  }

  /// The owner is the stack's, so that what comes for a tag also goes for it.
  ALLOCTAP_ALWAYS_INLINE static ObservedBlock with_owner(ObservedBlock block) noexcept {
    if constexpr (kTellsOwners) block.owner = Recorder::stacks().owner(block.stack);
    return block;
  }
};

}  // namespace alloctap
