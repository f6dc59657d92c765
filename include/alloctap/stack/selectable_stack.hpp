/// A stack capture policy that selects among several at run time.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/annotate.h"
#include "alloctap/macros.hpp"
#include "alloctap/stack/stack_capture.hpp"

namespace alloctap {

/// A capture policy that uses `First` until `select` chooses one of `Others`. Use it in tools with
/// a command-line option for the policy. A capture costs an indirect call, unless `First::recall`
/// finds the stack. The selection is static: all users of one list of types share it.
template <StackCapture First, StackCapture... Others>
struct SelectableStack {
  static constexpr std::string_view name = "selectable";
  static constexpr StackFeatures features{
      .offer = true, .selected = true, .forget_unloaded_modules = true};

  static CapturedStack capture(ThreadState& thread, const CallOrigin& origin,
                               std::span<std::uintptr_t> frames) noexcept {
    return kCaptures[selected_.load(std::memory_order_relaxed)](thread, origin, frames);
  }

  static IdentifiedStack identify(ThreadState& thread, const CallOrigin& origin,
                                  std::uint32_t max_frames) noexcept {
    return kIdentifications[selected_.load(std::memory_order_relaxed)](thread, origin, max_frames);
  }

  /// Calls `First::recall` if `First` is selected; otherwise returns nullptr.
  ALLOCTAP_ALWAYS_INLINE static RememberedStack* recall(ThreadState& thread,
                                                        const CallOrigin& origin,
                                                        std::uint32_t max_frames) noexcept
    requires RecallingStackCapture<First>
  {
    if (selected_.load(std::memory_order_relaxed) != 0) [[unlikely]] {
      return nullptr;
    }
    return First::recall(thread, origin, max_frames);
  }
  static IdentifiedStack identify_uncached(ThreadState& thread, const CallOrigin& origin,
                                           std::uint32_t max_frames,
                                           RememberedStack* recalled) noexcept
    requires RecallingStackCapture<First>
  {
    const std::size_t selected = selected_.load(std::memory_order_relaxed);
    if (selected == 0) return First::identify_uncached(thread, origin, max_frames, recalled);
    return kIdentifications[selected](thread, origin, max_frames);
  }

  static std::span<const std::uintptr_t> identified_frames(
      ThreadState& thread, const IdentifiedStack& identified) noexcept {
    return kFrames[selected_.load(std::memory_order_relaxed)](thread, identified);
  }

  static void offer(alloctap_slots& slots) noexcept {
    let_offer<First>(slots);
    (let_offer<Others>(slots), ...);
  }

  static void forget_unloaded_modules() noexcept {
    forget<First>();
    (forget<Others>(), ...);
  }

  /// Selects the policy named `wanted`. Returns false and changes nothing if no policy has that
  /// name.
  [[nodiscard]] static bool select(std::string_view wanted) noexcept {
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      if (kNames[i] != wanted) continue;
      selected_.store(i, std::memory_order_relaxed);
      return true;
    }
    return false;
  }

  [[nodiscard]] static std::string_view selected() noexcept {
    return kNames[selected_.load(std::memory_order_relaxed)];
  }

 private:
  template <class Choice>
  static void let_offer(alloctap_slots& slots) noexcept {
    if constexpr (features_of<StackFeatures, Choice>().offer) Choice::offer(slots);
  }
  template <class Choice>
  static void forget() noexcept {
    if constexpr (features_of<StackFeatures, Choice>().forget_unloaded_modules) {
      Choice::forget_unloaded_modules();
    }
  }

  using Capture = CapturedStack (*)(ThreadState&, const CallOrigin&,
                                    std::span<std::uintptr_t>) noexcept;
  using Identify = IdentifiedStack (*)(ThreadState&, const CallOrigin&, std::uint32_t) noexcept;
  using Frames = std::span<const std::uintptr_t> (*)(ThreadState&, const IdentifiedStack&) noexcept;

  static constexpr std::size_t kCount = 1 + sizeof...(Others);
  static constexpr std::array<Capture, kCount> kCaptures{&First::capture, &Others::capture...};
  /// Returns `Choice::identify` if it exists; otherwise `identify_stack`, which hashes the frames.
  template <class Choice>
  static constexpr Identify identification_of() noexcept {
    if constexpr (IdentifyingStackCapture<Choice>) {
      return &Choice::identify;
    } else {
      return &identify_stack<Choice>;
    }
  }

  static constexpr std::array<Identify, kCount> kIdentifications{identification_of<First>(),
                                                                 identification_of<Others>()...};
  static constexpr std::array<Frames, kCount> kFrames{&frames_of<First>, &frames_of<Others>...};
  static constexpr std::array<std::string_view, kCount> kNames{First::name, Others::name...};
  static inline constinit std::atomic<std::size_t> selected_{0};
};

}  // namespace alloctap
