/// The part of a recorder that says which way an event goes.
#pragma once

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/record/recording_mode.hpp"
#include "alloctap/sample/sampling_policy.hpp"

namespace alloctap {

/// Pauses, what `Config::Sampling` wants to be asked about, and the events of blocks: skipped,
/// sampled, or recorded by `allocate(event)` and `deallocate(pointer, origin)` of the `Recorder`
/// that derives from it. The half of it that makes that one a `SkippingSink`.
template <class Recorder, class Config>
class DetourRecorder {
 public:
  using Sampling = typename Config::Sampling;

  static RecordingMode& detours() noexcept { return detours_; }

  /// Asks the policy what it will be asked about, and ends all pauses. Before the hook is
  /// installed.
  static void begin_session() noexcept {
    detours_.begin(Sampling::selects(), !Sampling::records_everything());
  }
  /// After it is uninstalled.
  static void end_session() noexcept { detours_.end(); }

  template <class BytesOf>
  ALLOCTAP_ALWAYS_INLINE static bool try_skip(const void* block, const BytesOf& bytes_of) noexcept {
    return Recorder::sample_books_.try_skip(block, bytes_of);
  }
  ALLOCTAP_ALWAYS_INLINE static bool try_skip_free(const void* block) noexcept {
    return Recorder::sample_books_.try_skip_free(block);
  }

  ALLOCTAP_ALWAYS_INLINE static void on_allocate(const AllocationEvent& event) noexcept {
    if (!try_skip(event.pointer, [&] { return event.size; }))
      on_allocate_sampled_in(copy_of(event));
  }
  ALLOCTAP_ALWAYS_INLINE static void on_deallocate(const DeallocationEvent& event) noexcept {
    if (!try_skip_free(event.pointer)) on_deallocate_sampled_in(event.pointer, event.origin);
  }

  ALLOCTAP_ALWAYS_INLINE static void on_allocate_sampled_in(const AllocationEvent& event) noexcept {
    if constexpr (kNeverSamples<Sampling>) {
      Recorder::allocate(event);
    } else {
      allocate_or_sample(event);
    }
  }
  ALLOCTAP_ALWAYS_INLINE static void on_deallocate_sampled_in(void* pointer,
                                                              const CallOrigin& origin) noexcept {
    if constexpr (kNeverSamples<Sampling>) {
      Recorder::deallocate(pointer, origin);
    } else {
      deallocate_or_sample(pointer, copy_of(origin));
    }
  }

 protected:
  /// Whether the policy samples now. Where it never does, nothing of the books is compiled.
  ALLOCTAP_ALWAYS_INLINE static bool samples() noexcept {
    return !kNeverSamples<Sampling> && detours_.samples();
  }

  /// Field by field: what is skipped after all need not be in memory.
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

  static inline constinit RecordingMode detours_;

 private:
  /// Out of the way of calls that are skipped, so that those need few registers.
  ALLOCTAP_NOINLINE static void allocate_or_sample(const AllocationEvent& event) noexcept {
    if (samples()) return Recorder::sample_books_.apply(event);
    Recorder::allocate(event);
  }
  ALLOCTAP_NOINLINE static void deallocate_or_sample(void* pointer,
                                                     const CallOrigin& origin) noexcept {
    if (samples()) {
      return Recorder::sample_books_.apply(DeallocationEvent{.pointer = pointer, .origin = origin});
    }
    Recorder::deallocate(pointer, origin);
  }
};

}  // namespace alloctap
