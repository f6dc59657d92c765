/// The recording half of a tracker: what a hook feeds and what a snapshot reads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloctap/config.hpp"
#include "alloctap/event/event_sink.hpp"
#include "alloctap/guard/thread_state.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/stack/identified_stack.hpp"
#include "alloctap/stack/stack_table.hpp"

namespace alloctap {

/// The tables of one tracker and the way of an event into them: sample, stack, queue, container. It
/// is the `EventSink` that the tracker's hook feeds. All static; constant-initialized, so events
/// may come before constructors; deliberately never destroyed, so they may come after destructors.
template <class Config>
class Recorder {
 public:
  using Meta = typename Config::Meta;
  using Queue = typename Config::Queue::template For<Meta>;
  using Sampling = typename Config::Sampling;

  /// Counters that belong to neither table.
  struct Counters {
    std::atomic<std::uint64_t> failed_unwinds{0};
    std::atomic<std::uint64_t> truncated_stacks{0};
    /// Events of threads for which the system had no memory.
    std::atomic<std::uint64_t> dropped{0};
  };

  static Meta& meta() noexcept { return meta_; }
  static Queue& queue() noexcept { return queue_; }
  static const StackTable& stacks() noexcept { return stacks_; }
  static const Counters& counters() noexcept { return counters_; }

  /// How many frames are captured from now on; between 1 and `Config::limits.max_frames`.
  static void set_max_frames(std::uint32_t frames) noexcept {
    max_frames_.store(std::clamp<std::uint32_t>(frames, 1, Config::limits.max_frames),
                      std::memory_order_relaxed);
  }
  static std::uint32_t max_frames() noexcept { return max_frames_.load(std::memory_order_relaxed); }

  /// Before the hook feeds events: no pause is in force.
  static void begin_session() noexcept {
    detours_.store(Sampling::selects() ? kAskPolicy : 0, std::memory_order_relaxed);
  }

  /// From now on allocations are not recorded, until `resume` was called as often. May be called on
  /// any thread, not inside malloc.
  static void pause() noexcept {
    pauses_.fetch_add(1, std::memory_order_relaxed);
    detours_.fetch_add(kOnePause, std::memory_order_relaxed);
  }

  /// Ends one pause; does nothing where none is in force.
  static void resume() noexcept {
    std::uint32_t detours = detours_.load(std::memory_order_relaxed);
    while (detours >= kOnePause && !detours_.compare_exchange_weak(detours, detours - kOnePause,
                                                                   std::memory_order_relaxed)) {
    }
  }

  static bool paused() noexcept { return detours_.load(std::memory_order_relaxed) >= kOnePause; }
  /// How many pauses there were in all sessions.
  static std::uint64_t pauses() noexcept { return pauses_.load(std::memory_order_relaxed); }

  static void on_allocate(const AllocationEvent& event) noexcept {
    const RecordingSection section;
    ThreadState* thread = ready(section, event.origin);
    if (thread == nullptr) return;
    thread->last_allocated = event.pointer;
    if (detours_.load(std::memory_order_relaxed) != 0) [[unlikely]] {
      return allocate_on_detour(*thread, event);
    }
    queue_.push_allocation(
        {.pointer = event.pointer,
         .record = {.stack = capture(*thread, event.origin), .size = event.size}});
  }

  static void on_deallocate(const DeallocationEvent& event) noexcept {
    const RecordingSection section;
    ThreadState* thread = ready(section, event.origin);
    if (thread == nullptr) return;
    queue_.push_deallocation(event.pointer, frees_last(*thread, event.pointer));
  }

  static DetachedBlock begin_reallocate(const DeallocationEvent& event) noexcept {
    const RecordingSection section;
    ThreadState* thread = ready(section, event.origin);
    if (thread == nullptr) return {};
    const BlockRecord record = queue_.take(event.pointer);
    return {.pointer = event.pointer,
            .record = record,
            .known = record.stack != kNoStackId,
            .temporary = thread->last_allocated == event.pointer};
  }

  static void cancel_reallocate(const DetachedBlock& block) noexcept {
    const RecordingSection section;
    if (block.known && section.thread() != nullptr) queue_.put_back(block.pointer, block.record);
  }

  static void finish_reallocate(const DetachedBlock& block) noexcept {
    const RecordingSection section;
    if (!block.known || section.thread() == nullptr) return;
    if (block.temporary) section.thread()->last_allocated = nullptr;
    meta_.count_reallocated(block.record, block.temporary);
  }

  static void on_map(const MappingEvent& event) noexcept {
    const RecordingSection section;
    ThreadState* thread = ready(section, event.origin);
    if (thread == nullptr) return;
    meta_.mappings().map(reinterpret_cast<std::uintptr_t>(event.address), event.length,
                         capture(*thread, event.origin));
  }

  static DetachedMappings begin_unmap(const MappingEvent& event) noexcept {
    const RecordingSection section;
    if (ready(section, event.origin) == nullptr) return {};
    return meta_.mappings().begin_unmap(reinterpret_cast<std::uintptr_t>(event.address),
                                        event.length);
  }

  static void cancel_unmap(DetachedMappings& detached) noexcept {
    const RecordingSection section;
    meta_.mappings().cancel_unmap(detached);
  }

  static void finish_unmap(DetachedMappings& detached) noexcept {
    const RecordingSection section;
    meta_.mappings().finish_unmap(detached);
  }

  static void on_modules_unloaded() noexcept {
    if constexpr (requires { Config::Stack::forget_unloaded_modules(); }) {
      Config::Stack::forget_unloaded_modules();
    }
  }

  /// Only hooks that are called before the tracker starts ask for it.
  static void on_first_call() noexcept {
    if constexpr (requires { Config::on_first_call(); }) Config::on_first_call();
  }

 private:
  /// The thread to record for; nullptr where it has no state or the call is not the program's.
  static ThreadState* ready(const RecordingSection& section, const CallOrigin& origin) noexcept {
    if constexpr (requires { Config::is_own_call(origin); }) {
      if (Config::is_own_call(origin)) return nullptr;
    }
    if (section.thread() == nullptr) counters_.dropped.fetch_add(1, std::memory_order_relaxed);
    return section.thread();
  }

  /// What `detours_` is made of: whether the policy has to be asked, and how many pauses are in
  /// force.
  static constexpr std::uint32_t kAskPolicy = 1;
  static constexpr std::uint32_t kOnePause = 2;

  /// An allocation while recording is paused, or that the policy decides on.
  ALLOCTAP_NOINLINE static void allocate_on_detour(ThreadState& thread,
                                                   const AllocationEvent& event) noexcept {
    if (paused()) {
      thread.last_allocated = nullptr;
      return;
    }
    const SampleDecision decision = Sampling::decide(thread, event.size);
    if (decision == SampleDecision::kSkip) return;
    const bool with_stack = decision == SampleDecision::kWithStack;
    const StackId stack = with_stack ? capture(thread, event.origin) : kStackNotTaken;
    queue_.push_allocation(
        {.pointer = event.pointer, .record = {.stack = stack, .size = event.size}});
  }

  /// Whether `pointer` is what the thread allocated last; it is not any more then.
  static bool frees_last(ThreadState& thread, const void* pointer) noexcept {
    if (thread.last_allocated != pointer) return false;
    thread.last_allocated = nullptr;
    return true;
  }

  static StackId capture(ThreadState& thread, const CallOrigin& origin) noexcept {
    const IdentifiedStack identified =
        identify_stack<typename Config::Stack>(thread, origin, max_frames());
    const CapturedStack& stack = identified.stack;
    if (stack.failed) counters_.failed_unwinds.fetch_add(1, std::memory_order_relaxed);
    if (stack.truncated) counters_.truncated_stacks.fetch_add(1, std::memory_order_relaxed);
    const StackId known = stacks_.find(identified.hash);
    if (known != kNoStackId) [[likely]] {
      return known;
    }
    return stacks_.intern(identified.hash, frames_of<typename Config::Stack>(thread, identified));
  }

  static inline constinit Meta meta_;
  static inline constinit Queue queue_{meta_};
  static inline constinit StackTable stacks_;
  static inline constinit Counters counters_;
  /// Zero on the way that is usual: then allocations look no further.
  static inline constinit std::atomic<std::uint32_t> detours_{0};
  static inline constinit std::atomic<std::uint64_t> pauses_{0};
  static inline constinit std::atomic<std::uint32_t> max_frames_{Config::limits.max_frames};
};

}  // namespace alloctap
