/// The stack capture concepts: policies that find, and may hash, the stack of a call.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "alloctap/annotate.h"
#include "alloctap/event/allocation_event.hpp"
#include "alloctap/event/policy_features.hpp"
#include "alloctap/event/stack_identity.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/runtime/thread_state.hpp"

namespace alloctap {

/// The result of a capture.
struct CapturedStack {
  /// Number of frames written.
  std::uint32_t depth = 0;
  /// More frames existed than `frames` had room for.
  bool truncated = false;
  /// The walk ended before the outermost frame.
  bool failed = false;
  /// Some frames have no unwind table and were unwound by frame records.
  bool by_records = false;
  /// Padding to a whole word.
  bool unused = false;

  /// Returns whether the stack is complete and was found by unwind tables alone. The check is one
  /// comparison, because every recorded call makes it.
  [[nodiscard]] bool is_whole() const noexcept {
    return std::bit_cast<std::array<std::uint32_t, 2>>(*this)[1] == 0;
  }
};

/// The optional members of a stack capture, except those that `IdentifyingStackCapture` requires.
struct StackFeatures {
  /// `offer(alloctap_slots&)` adds functions for annotate.h when a session starts.
  bool offer = false;
  /// `selected()` returns the name of the selected capture, if a policy chooses among several.
  bool selected = false;
  /// `forget_unloaded_modules()` discards what is cached about code that dlclose unloaded.
  bool forget_unloaded_modules = false;
};

/// A policy that writes the return addresses of the callers to `frames`, leaf first. Frame 0 is
/// `origin.caller` or, if `origin.allocator` is set, the first frame outside the allocator. Frames
/// of the tracker are omitted. The pc of a frame that a signal interrupted is stored plus 1, so
/// that `pc - 1` is in the executing instruction of every frame. Runs inside malloc on the thread
/// that owns `thread`. Precondition: `frames` is not empty.
template <class S>
concept StackCapture =
    requires(ThreadState& thread, const CallOrigin& origin, std::span<std::uintptr_t> frames) {
      { S::name } -> std::convertible_to<std::string_view>;
      { S::capture(thread, origin, frames) } noexcept -> std::same_as<CapturedStack>;
    };

/// A minimal model of `StackCapture`, for concept checks.
struct StackCaptureArchetype {
  static constexpr std::string_view name = "archetype";
  static CapturedStack capture(ThreadState&, const CallOrigin&,
                               std::span<std::uintptr_t>) noexcept {
    return {};
  }
};

static_assert(StackCapture<StackCaptureArchetype>);

/// When instantiated, checks that the declared features of `S` match its members.
template <class S>
struct CheckedStack {
  static constexpr auto kHas = features_of<StackFeatures, S>();
  ALLOCTAP_CHECK_FEATURE(
      "Stack", kHas, offer, requires(alloctap_slots& slots) { S::offer(slots); });
  ALLOCTAP_CHECK_FEATURE("Stack", kHas, selected, requires { S::selected(); });
  ALLOCTAP_CHECK_FEATURE(
      "Stack", kHas, forget_unloaded_modules, requires { S::forget_unloaded_modules(); });
  static constexpr bool ok = true;
};

/// A captured stack that is identified by its hash, without its frames.
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
/// stack that the thread's cache predicted if the current stack equals it; otherwise nullptr.
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

/// The cheapest policy: records only the caller of the hooked function. Suffices if allocation
/// sites call the allocator directly, not through a wrapper function.
struct NoStack {
  static constexpr std::string_view name = "none";

  static CapturedStack capture(ThreadState&, const CallOrigin& origin,
                               std::span<std::uintptr_t> frames) noexcept {
    frames[0] = reinterpret_cast<std::uintptr_t>(origin.caller);
    return {.depth = 1};
  }
};

static_assert(StackCapture<NoStack>);

}  // namespace alloctap
