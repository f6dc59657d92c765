/// The contract of stack capture: which frames led to a call.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/runtime/thread_state.hpp"

namespace alloctap {

/// What a capture found.
struct CapturedStack {
  /// Frames written, leaf first.
  std::uint32_t depth = 0;
  /// There were more frames than room.
  bool truncated = false;
  /// The walk ended before the outermost frame.
  bool failed = false;
  /// Code without unwind tables was on the way, and was left by its frame records.
  bool by_records = false;
  /// Fills the word.
  bool unused = false;

  /// Whether it is the whole stack, and by unwind tables alone. At once: this is asked of each
  /// call.
  [[nodiscard]] bool is_whole() const noexcept {
    return std::bit_cast<std::array<std::uint32_t, 2>>(*this)[1] == 0;
  }
};

/// A policy that writes the return addresses of the callers to `frames`, leaf first: frame 0 is
/// `origin.caller`, or the first outside of `origin.allocator`, and frames of the tracker itself
/// are left out. An address that was interrupted by a signal, and not called from, is stored plus
/// one, so that "minus one" finds the instruction in every frame. Runs inside malloc on the thread
/// that owns `thread`; `frames` is never empty.
template <class S>
concept StackCapture =
    requires(ThreadState& thread, const CallOrigin& origin, std::span<std::uintptr_t> frames) {
      { S::name } -> std::convertible_to<std::string_view>;
      { S::capture(thread, origin, frames) } noexcept -> std::same_as<CapturedStack>;
    };

/// The least that models `StackCapture`.
struct StackCaptureArchetype {
  static constexpr std::string_view name = "archetype";
  static CapturedStack capture(ThreadState&, const CallOrigin&,
                               std::span<std::uintptr_t>) noexcept {
    return {};
  }
};

static_assert(StackCapture<StackCaptureArchetype>);

}  // namespace alloctap
