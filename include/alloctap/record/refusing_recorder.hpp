/// A recorder that injects allocation failures.
#pragma once

#include <algorithm>
#include <type_traits>

#include "alloctap/event/refusing_sink.hpp"
#include "alloctap/fail/failure_policy.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/errno_guard.hpp"
#include "alloctap/record/recorder.hpp"
#include "alloctap/record/thread_stats.hpp"
#include "alloctap/runtime/thread_state.hpp"
#include "alloctap/tag/tag_scope.hpp"

namespace alloctap {

/// The `RefusingSink` of a tracker whose `Config::Failures` injects failures. Extends the recorder
/// `Base`. Marks internal calls (`Config::is_internal_call`) as the tracker's own (`is_own`).
template <class Config, class Base>
class RefusingRecorder : public Base {
 public:
  using Failures = typename Config::Failures;

  ALLOCTAP_ALWAYS_INLINE static bool may_refuse() noexcept { return Failures::may_refuse(); }

  static bool refuses(const AskedAllocation& asked) noexcept {
    const os::ErrnoGuard preserve_error;
    const bool is_own = asked.is_own || Base::is_internal_call(asked.origin);
    return Failures::refuses({.size = asked.size, .is_own = is_own, .origin = asked.origin},
                             kSurroundings);
  }

  static void end_asked() noexcept { Failures::end_asked(); }

 private:
  static TagId tag() noexcept { return this_thread_tag().load(std::memory_order_relaxed); }
  static TagId tag_around(TagId inner) noexcept { return process_tags.parent(inner); }

  static StackId stack(const CallOrigin& origin) noexcept {
    const RecordingScope section;
    ThreadStats* const totals = section.thread() == nullptr ? nullptr : Base::mine();
    if (totals == nullptr) return kNoStackId;
    return Base::capture(*section.thread(), *totals, origin);
  }

  static bool passes(StackId stack, const AddressRange& code) noexcept {
    const StackFrames frames = Base::stacks().frames(stack);
    return std::any_of(frames.begin(), frames.end(), [&](std::uintptr_t frame) {
      const std::uintptr_t call = call_address(frame);
      return code.start <= call && call < code.end;
    });
  }

  static constexpr AllocationSurroundings kSurroundings{
      .tag = &tag, .tag_around = &tag_around, .stack = &stack, .passes = &passes};
};

/// `Base`, extended by failure injection if the config enables that.
template <class Config, class Base>
using WithFailures =
    std::conditional_t<Config::Failures::kFails, RefusingRecorder<Config, Base>, Base>;

}  // namespace alloctap
