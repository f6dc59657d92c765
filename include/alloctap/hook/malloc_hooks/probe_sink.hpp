/// Event sink that captures what hooks report of single test calls.
#pragma once

#include <unwind.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloctap/event/allocator_frames.hpp"
#include "alloctap/event/event_sink.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap {

/// Events that the hooks reported during one call.
struct ProbedCall {
  const void* allocated = nullptr;
  std::size_t size = 0;
  const void* freed = nullptr;
  bool reallocation = false;
  bool freed_first = false;
};

/// Event sink during a probe: captures events of the calling thread, and the allocator's frames.
/// Drops events of other threads. Only one thread at a time may probe.
class ProbeSink {
 public:
  /// Runs `call` as an outermost call and stores its result, a block or nullptr, in `block`.
  /// Returns what the hooks reported, and adds the allocator's frames to `frames`.
  template <class Call>
  ALLOCTAP_NOINLINE static ProbedCall calls_of(Call call, AllocatorFrames& frames,
                                               void*& block) noexcept {
    const AsProgram as_program;
    seen_ = {};
    frames_ = &frames;
    caller_ = reinterpret_cast<std::uintptr_t>(ALLOCTAP_RETURN_ADDRESS());
    thread_.store(&this_thread_slot(), std::memory_order_release);
    block = call();
    thread_.store(nullptr, std::memory_order_release);
    return seen_;
  }

  static void on_allocate(const AllocationEvent& event) noexcept {
    if (!mine()) return;
    seen_.allocated = event.pointer;
    seen_.size = event.size;
    learn_frames(event.origin);
  }
  static void on_deallocate(const DeallocationEvent& event) noexcept {
    if (!mine()) return;
    seen_.freed = event.pointer;
    seen_.freed_first = seen_.allocated == nullptr;
    learn_frames(event.origin);
  }
  static DetachedBlock begin_reallocate(const DeallocationEvent& event) noexcept {
    on_deallocate(event);
    if (mine()) seen_.reallocation = true;
    return {};
  }
  static void cancel_reallocate(const DetachedBlock&) noexcept {}
  static void finish_reallocate(const DetachedBlock&) noexcept {}
  static void on_map(const MappingEvent&) noexcept {}
  static DetachedMappings begin_unmap(const MappingEvent&) noexcept { return {}; }
  static void cancel_unmap(DetachedMappings&) noexcept {}
  static void finish_unmap(DetachedMappings&) noexcept {}
  static void on_modules_unloading() noexcept {}
  static void on_modules_unloaded() noexcept {}

 private:
  /// Scope guard that makes this thread's calls outermost, although a `ReentrancyGuard` is held.
  class AsProgram {
   public:
    AsProgram() noexcept : depth_(this_thread_slot().depth.exchange(0)) {}
    ~AsProgram() { this_thread_slot().depth.store(depth_); }
    AsProgram(const AsProgram&) = delete;
    AsProgram& operator=(const AsProgram&) = delete;

   private:
    std::int32_t depth_;
  };

  /// Frames from the hook's caller to the probe. Ignored unless the walk finds both ends.
  struct Walk {
    static constexpr std::size_t kMaxCount = 32;
    std::uintptr_t first = 0;
    std::array<std::uintptr_t, kMaxCount> frames{};
    std::size_t count = 0;
    bool whole = false;
  };

  static bool mine() noexcept {
    return thread_.load(std::memory_order_acquire) == &this_thread_slot();
  }

  static void learn_frames(const CallOrigin& origin) noexcept {
    Walk walk;
    walk.first = reinterpret_cast<std::uintptr_t>(origin.caller);
    ::_Unwind_Backtrace(&visit, &walk);
    if (!walk.whole) return;
    for (std::size_t i = 0; i < walk.count; ++i) frames_->add(walk.frames[i]);
  }

  static _Unwind_Reason_Code visit(_Unwind_Context* context, void* argument) noexcept {
    Walk& walk = *static_cast<Walk*>(argument);
    const std::uintptr_t frame = ::_Unwind_GetIP(context);
    walk.whole = frame == caller_;
    const bool before = walk.count == 0 && frame != walk.first;
    if (before && !walk.whole) return _URC_NO_REASON;
    if (walk.whole || walk.count == Walk::kMaxCount) return _URC_END_OF_STACK;
    walk.frames[walk.count++] = frame;
    return _URC_NO_REASON;
  }

  static inline constinit std::atomic<const ThreadSlot*> thread_{nullptr};
  static inline constinit ProbedCall seen_;
  static inline constinit AllocatorFrames* frames_ = nullptr;
  static inline constinit std::uintptr_t caller_ = 0;
};

static_assert(EventSink<ProbeSink>);

}  // namespace alloctap
