/// The part of a recorder that stacks go through.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/event/internal_code.hpp"
#include "alloctap/event/stack_owner.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/record/thread_stats.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/runtime/thread_state.hpp"
#include "alloctap/stack/identified_stack.hpp"
#include "alloctap/stack/stack_table.hpp"
#include "alloctap/tag/tag_policy.hpp"

namespace alloctap {

/// Captures stacks as `Config` says, and gives them their ids; for a `Recorder` that derives from
/// it.
template <class Config>
class StackRecorder {
 public:
  static const StackTable& stacks() noexcept { return stacks_; }

  static constexpr TagsDescription tags() noexcept { return Config::Tags::description(); }

  /// The stack of a call. Inside malloc.
  static StackId capture(ThreadState& thread, ThreadStats& totals,
                         const CallOrigin& origin) noexcept {
    return intern(thread, identify(thread, totals, origin));
  }

  /// How many frames are captured from now on; between 1 and `Config::limits.max_frames`.
  static void set_max_frames(std::uint32_t frames) noexcept {
    max_frames_.store(std::clamp<std::uint32_t>(frames, 1, Config::limits.max_frames),
                      std::memory_order_relaxed);
  }
  static std::uint32_t max_frames() noexcept { return max_frames_.load(std::memory_order_relaxed); }

 protected:
  using Stack = typename Config::Stack;

  ALLOCTAP_ALWAYS_INLINE static void count_incomplete(ThreadStats& totals,
                                                      const CapturedStack& stack) noexcept {
    if (!stack.is_whole()) [[unlikely]] {
      count_incomplete_slow(totals, stack);
    }
  }

  ALLOCTAP_NOINLINE static void count_incomplete_slow(ThreadStats& totals,
                                                      CapturedStack stack) noexcept {
    if (stack.by_records) ++totals.events.frame_pointer_unwinds;
    if (stack.failed) ++totals.events.failed_unwinds;
    if (stack.truncated) ++totals.events.truncated_stacks;
  }

  ALLOCTAP_ALWAYS_INLINE static IdentifiedStack identify(ThreadState& thread, ThreadStats& totals,
                                                         const CallOrigin& origin) noexcept {
    const IdentifiedStack identified = identify_stack<Stack>(thread, origin, max_frames());
    count_incomplete(totals, identified.stack);
    return identified;
  }

  /// The stack of a call, if the capture remembers it; else nullptr.
  ALLOCTAP_ALWAYS_INLINE static RememberedStack* recall(ThreadState& thread, ThreadStats& totals,
                                                        const CallOrigin& origin) noexcept {
    if constexpr (RecallingStackCapture<Stack>) {
      RememberedStack* const recalled = Stack::recall(thread, origin, max_frames());
      if (recalled != nullptr) count_incomplete(totals, recalled->stack);
      return recalled;
    } else {
      return nullptr;
    }
  }

  /// The stack of a call for which `recall` returned `recalled`. What is incomplete of it, the
  /// caller counts (`count_incomplete`): a copy here would wait until the capture's has reached
  /// the cache.
  ALLOCTAP_ALWAYS_INLINE static IdentifiedStack identify_uncached(
      ThreadState& thread, const CallOrigin& origin, RememberedStack* recalled) noexcept {
    if constexpr (RecallingStackCapture<Stack>) {
      return Stack::identify_uncached(thread, origin, max_frames(), recalled);
    } else {
      return identify_stack<Stack>(thread, origin, max_frames());
    }
  }

  /// The hash under which a stack is kept: that of its frames and of who owns it. What a capture
  /// remembers of frames stays right whatever the tag.
  ALLOCTAP_ALWAYS_INLINE static decltype(auto) hash_of(const ThreadState& thread,
                                                       const StackHash& frames) noexcept {
    if constexpr (kTellsNobody<typename Config::Tags>) {
      return (frames);
    } else {
      return frames.owned_by(Config::Tags::current(thread));
    }
  }

  static StackId intern(ThreadState& thread, const IdentifiedStack& identified) noexcept {
    const StackOwner owner = Config::Tags::current(thread);
    const StackHash hash = identified.hash.owned_by(owner);
    const StackId known = stacks_.find(hash);
    if (known != kNoStackId) return known;
    return add(hash, frames_of<Stack>(thread, identified), owner);
  }

  static inline constinit StackTable stacks_;

 private:
  /// Adds a stack without the frames of the tracker's own code.
  ALLOCTAP_NOINLINE static StackId add(const StackHash& hash,
                                       std::span<const std::uintptr_t> frames,
                                       StackOwner owner) noexcept {
    const auto is_internal = [](std::uintptr_t frame) {
      return internal_code.contains(call_address(frame));
    };
    if (std::none_of(frames.begin(), frames.end(), is_internal)) {
      return stacks_.intern(hash, frames, owner);
    }
    auto* const left = static_cast<std::uintptr_t*>(Arena::allocate(frames.size_bytes()));
    if (left == nullptr) return kUnknownStack;
    auto* const end = std::remove_copy_if(frames.begin(), frames.end(), left, is_internal);
    const StackId id = stacks_.intern(hash, {left, end}, owner);
    Arena::deallocate(left, frames.size_bytes());
    return id;
  }

  static inline constinit std::atomic<std::uint32_t> max_frames_{Config::limits.max_frames};
};

}  // namespace alloctap
