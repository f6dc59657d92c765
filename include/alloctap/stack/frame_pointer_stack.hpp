/// A stack capture policy that follows frame pointers, for code built with them.
#pragma once

#include <cstdint>

#include "alloctap/arch/frame_record.hpp"
#include "alloctap/stack/chain_capture.hpp"
#include "alloctap/stack/stack_capture.hpp"
#include "alloctap/stack/unwind_rules.hpp"

namespace alloctap {

/// The fallback capture for calls without a frame pointer: records the caller alone.
struct CallerAlone {
  static constexpr std::string_view name = "caller";

  static CapturedStack capture(ThreadState&, const CallOrigin& origin,
                               std::span<std::uintptr_t> frames) noexcept {
    frames[0] = reinterpret_cast<std::uintptr_t>(origin.caller);
    return {.depth = 1, .failed = true};
  }
};

/// The `Rules` of a `ChainCapture` that follows frame pointers in all code.
class FramePointerRules {
 public:
  using Fallback = CallerAlone;
  struct Cache {};
  static constexpr bool kPointerDecides = true;

  FramePointerRules(const Cache&, std::uint64_t) noexcept {}

  [[nodiscard]] static std::uint64_t current_epoch() noexcept { return 0; }
  /// Returns `kOutermost` for frame pointer 0, which the ABI prescribes for the outermost frame.
  [[nodiscard]] static UnwindRule find(const UnwindFrame& frame) noexcept {
    return frame.fp == 0 ? UnwindRule{.kind = UnwindRule::Kind::kOutermost} : kRecord;
  }

  /// Never called, because `find` has a rule for all code.
  [[nodiscard]] static bool is_code(std::uintptr_t) noexcept { return false; }

  /// The rule for functions that set up a frame pointer: CFA = fp + the size of the frame record.
  static constexpr UnwindRule kRecord{.cfa_offset = sizeof(arch::FrameRecord),
                                      .fp_slot = -2,
                                      .return_slot = -1,
                                      .kind = UnwindRule::Kind::kFromFramePointer};
};

/// A frame-pointer unwinder with the frame cache of `UnwindTableStack`. Choose it for code without
/// unwind tables. The program and the libraries on its stacks must be built with
/// -fno-omit-frame-pointer; frames of other code are missing. The capture counts as failed if the
/// unwind table says that the innermost function sets up no frame pointer. A frame that is missing
/// further out cannot be detected.
struct FramePointerStack {
  static constexpr std::string_view name = "frame-pointer";
  static constexpr StackFeatures features{.offer = true, .forget_unloaded_modules = true};

  static CapturedStack capture(ThreadState& thread, const CallOrigin& origin,
                               std::span<std::uintptr_t> frames) noexcept {
    CapturedStack stack = Capture::capture(thread, origin, frames);
    stack.failed = (stack.failed || lacks_frame_pointer(origin)) && !stack.truncated;
    return stack;
  }

  static IdentifiedStack identify(ThreadState& thread, const CallOrigin& origin,
                                  std::uint32_t max_frames) noexcept {
    IdentifiedStack identified = Capture::identify(thread, origin, max_frames);
    CapturedStack& stack = identified.stack;
    stack.failed = (stack.failed || lacks_frame_pointer(origin)) && !stack.truncated;
    return identified;
  }

  static std::span<const std::uintptr_t> identified_frames(
      ThreadState& thread, const IdentifiedStack& identified) noexcept {
    return Capture::identified_frames(thread, identified);
  }

  static void offer(alloctap_slots& slots) noexcept { slots.fibers = &alloctap_fibers; }

  static void forget_unloaded_modules() noexcept { UnwindRules::forget_all(); }

 private:
  using Capture = ChainCapture<FramePointerRules>;

  static bool lacks_frame_pointer(const CallOrigin& origin) noexcept {
    const auto call = reinterpret_cast<std::uintptr_t>(origin.caller) - 1;
    const UnwindRule rule = UnwindRules::find(call, UnwindRules::epoch());
    return rule.kind == UnwindRule::Kind::kFromStackPointer;
  }
};

static_assert(IdentifyingStackCapture<FramePointerStack>);

}  // namespace alloctap
