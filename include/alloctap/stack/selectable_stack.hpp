/// Several ways to capture a stack in one program, one of them chosen when it starts.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/stack/identified_stack.hpp"
#include "alloctap/stack/stack_capture.hpp"

namespace alloctap {

/// Captures with one of `Choices`, the first until `select` says otherwise. For tools whose user
/// chooses on a command line; costs an indirect call. One choice per list of types and process.
template <StackCapture... Choices>
struct SelectableStack {
  static constexpr std::string_view name = "selectable";

  static CapturedStack capture(ThreadState& thread, const CallOrigin& origin,
                               std::span<std::uintptr_t> frames) noexcept {
    return kCaptures[selected_.load(std::memory_order_relaxed)](thread, origin, frames);
  }

  static IdentifiedStack identify(ThreadState& thread, const CallOrigin& origin,
                                  std::uint32_t max_frames) noexcept {
    return kIdentifications[selected_.load(std::memory_order_relaxed)](thread, origin, max_frames);
  }

  static std::span<const std::uintptr_t> identified_frames(
      ThreadState& thread, const IdentifiedStack& identified) noexcept {
    return kFrames[selected_.load(std::memory_order_relaxed)](thread, identified);
  }

  static void forget_unloaded_modules() noexcept { (forget<Choices>(), ...); }

  /// Chooses the policy that is named `wanted`; false, and no change, where there is none.
  [[nodiscard]] static bool select(std::string_view wanted) noexcept {
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      if (kNames[i] != wanted) continue;
      selected_.store(i, std::memory_order_relaxed);
      return true;
    }
    return false;
  }

  /// The name of the policy in force.
  [[nodiscard]] static std::string_view selected() noexcept {
    return kNames[selected_.load(std::memory_order_relaxed)];
  }

 private:
  template <class Choice>
  static void forget() noexcept {
    if constexpr (requires { Choice::forget_unloaded_modules(); }) {
      Choice::forget_unloaded_modules();
    }
  }

  using Capture = CapturedStack (*)(ThreadState&, const CallOrigin&,
                                    std::span<std::uintptr_t>) noexcept;
  using Identify = IdentifiedStack (*)(ThreadState&, const CallOrigin&, std::uint32_t) noexcept;
  using Frames = std::span<const std::uintptr_t> (*)(ThreadState&, const IdentifiedStack&) noexcept;

  static constexpr std::array<Capture, sizeof...(Choices)> kCaptures{&Choices::capture...};
  /// Straight to those that identify themselves.
  template <class Choice>
  static constexpr Identify identification_of() noexcept {
    if constexpr (IdentifyingStackCapture<Choice>) {
      return &Choice::identify;
    } else {
      return &identify_stack<Choice>;
    }
  }

  static constexpr std::array<Identify, sizeof...(Choices)> kIdentifications{
      identification_of<Choices>()...};
  static constexpr std::array<Frames, sizeof...(Choices)> kFrames{&frames_of<Choices>...};
  static constexpr std::array<std::string_view, sizeof...(Choices)> kNames{Choices::name...};
  static inline constinit std::atomic<std::size_t> selected_{0};
};

}  // namespace alloctap
