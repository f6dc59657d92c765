/// The stack capture concept: a policy that finds the return addresses that led to a call.
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

/// The optional members of a stack capture. Those of an `IdentifyingStackCapture` are not listed:
/// they are a contract of their own.
struct StackFeatures {
  /// `offer(alloctap_slots&)` adds functions for annotate.h when a session starts.
  bool offer = false;
  /// `selected()` returns the name of the capture that a choice among several selected.
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

/// Compares the features of the capture `S` with its members when instantiated.
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

}  // namespace alloctap
