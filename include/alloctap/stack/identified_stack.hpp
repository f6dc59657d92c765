/// A captured stack under the hash that it is kept by, whatever the policy.
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
  /// Room for whoever asked, to note where it keeps this stack: the capture has it there again when
  /// the same stack comes again, or what was noted of another one. nullptr where a capture
  /// remembers no stack. Valid until the thread captures again.
  std::uint32_t* place = nullptr;
};

/// What a capture remembers of a stack that comes again and again. Belongs to its thread.
struct RememberedStack {
  StackHash hash;
  CapturedStack stack;
  /// `IdentifiedStack::place`.
  std::uint32_t place = 0;
};

/// A capture that knows the hash of a stack without writing its frames. `identify` captures at most
/// `max_frames`; `identified_frames` then gives them, leaf first, valid until the thread captures
/// again; none where they can no longer be told. The hash is that of `hash_frames`. Both run inside
/// malloc on the thread that owns `thread`.
template <class S>
concept IdentifyingStackCapture =
    StackCapture<S> && requires(ThreadState& thread, const CallOrigin& origin,
                                std::uint32_t max_frames, const IdentifiedStack& identified) {
      { S::identify(thread, origin, max_frames) } noexcept -> std::same_as<IdentifiedStack>;
      {
        S::identified_frames(thread, identified)
      } noexcept -> std::same_as<std::span<const std::uintptr_t>>;
    };

/// An identifying capture in two parts. `recall`, which is short and folded into its caller,
/// returns the stack if it is one that came again and again and was expected, else nullptr; what it
/// changes is at most what it expects next. Valid until the thread captures again.
/// `identify_uncached`, given that, does what `identify` does.
template <class S>
concept RecallingStackCapture =
    IdentifyingStackCapture<S> && requires(ThreadState& thread, const CallOrigin& origin,
                                           std::uint32_t max_frames, RememberedStack* recalled) {
      { S::recall(thread, origin, max_frames) } noexcept -> std::same_as<RememberedStack*>;
      {
        S::identify_uncached(thread, origin, max_frames, recalled)
      } noexcept -> std::same_as<IdentifiedStack>;
    };

/// Captures with `S`, which may know the hash or have it made from the frames.
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

/// The frames of what `identify_stack<S>` just returned.
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
