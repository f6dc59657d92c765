/// Captured stacks identified by a hash, and concepts of captures that compute the hash without
/// copying frames.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/runtime/thread_state.hpp"
#include "alloctap/stack/stack_capture.hpp"

namespace alloctap {

struct IdentifiedStack {
  StackHash hash;
  CapturedStack stack;
  /// Points at a cache slot in which the caller stores its id of this stack. When the stack recurs,
  /// the slot may hold another stack's id, so the caller must check the id. nullptr if the policy
  /// caches no stacks. Valid until the thread's next capture.
  std::uint32_t* place = nullptr;
};

/// A recurring stack in a capture's per-thread cache.
struct RememberedStack {
  StackHash hash;
  CapturedStack stack;
  /// The slot that `IdentifiedStack::place` points at.
  std::uint32_t place = 0;
};

/// A capture that can hash a stack without copying its frames. `identify` captures at most
/// `max_frames` and returns the hash that `hash_frames` would. `identified_frames` then returns the
/// frames, leaf first, valid until the thread's next capture. If the frames can no longer be
/// determined, `identified_frames` returns an empty span. Both run inside malloc on the thread that
/// owns `thread`.
template <class S>
concept IdentifyingStackCapture =
    StackCapture<S> && requires(ThreadState& thread, const CallOrigin& origin,
                                std::uint32_t max_frames, const IdentifiedStack& identified) {
      { S::identify(thread, origin, max_frames) } noexcept -> std::same_as<IdentifiedStack>;
      {
        S::identified_frames(thread, identified)
      } noexcept -> std::same_as<std::span<const std::uintptr_t>>;
    };

/// An identifying capture split into an inlined fast path and a slow path. `recall` returns the
/// stack that the thread's cache predicted if that is the current stack; otherwise nullptr.
/// `recall` changes only the prediction. The result is valid until the thread's next capture.
/// `identify_uncached` completes `identify`, given the result of `recall`.
template <class S>
concept RecallingStackCapture =
    IdentifyingStackCapture<S> && requires(ThreadState& thread, const CallOrigin& origin,
                                           std::uint32_t max_frames, RememberedStack* recalled) {
      { S::recall(thread, origin, max_frames) } noexcept -> std::same_as<RememberedStack*>;
      {
        S::identify_uncached(thread, origin, max_frames, recalled)
      } noexcept -> std::same_as<IdentifiedStack>;
    };

/// Captures the calling stack with `S`. Hashes the captured frames if `S` does not supply the hash.
template <StackCapture S>
[[nodiscard]] ALLOCTAP_ALWAYS_INLINE IdentifiedStack
identify_stack(ThreadState& thread, const CallOrigin& origin, std::uint32_t max_frames) noexcept {
  if constexpr (IdentifyingStackCapture<S>) {
    return S::identify(thread, origin, max_frames);
  } else {
    const std::span<std::uintptr_t> room(thread.frames, max_frames);
    const CapturedStack stack = S::capture(thread, origin, room);
    return {.hash = hash_frames(room.first(stack.depth)), .stack = stack};
  }
}

/// Returns the frames of the last `identify_stack<S>` on this thread.
template <StackCapture S>
[[nodiscard]] std::span<const std::uintptr_t> frames_of(
    ThreadState& thread, const IdentifiedStack& identified) noexcept {
  if constexpr (IdentifyingStackCapture<S>) {
    return S::identified_frames(thread, identified);
  } else {
    return {thread.frames, identified.stack.depth};
  }
}

}  // namespace alloctap
