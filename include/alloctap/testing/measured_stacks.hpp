/// Conversion of counts per stack id to counts per symbolized stack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "alloctap/dump/named_stacks.hpp"
#include "alloctap/testing/baseline.hpp"
#include "alloctap/testing/counted_stack.hpp"
#include "alloctap/testing/framework_frames.hpp"
#include "alloctap/testing/test_framework.hpp"

namespace alloctap::testing {

/// Returns the part of `frames` inside the measured function. Removes the frame whose call address
/// is `caller`, all frames outside of it, and one inner frame: `MeasuredCallable`, or the outermost
/// function inlined into it. Returns all frames if no frame is at `caller`, as on other threads or
/// in truncated stacks.
[[nodiscard]] inline std::span<const NamedFrame> frames_inside(std::span<const NamedFrame> frames,
                                                               std::uintptr_t caller) noexcept {
  std::size_t end = frames.size();
  while (end > 0 && frames[end - 1].address != caller) --end;
  if (caller == 0 || end == 0) return frames;
  while (end > 0 && frames[end - 1].address == caller) --end;
  return frames.first(end > 0 ? end - 1 : 0);
}

/// Returns "module  function", without control characters.
[[nodiscard]] inline std::string frame_text(const NamedFrame& frame) {
  std::string text(frame.module.empty() ? "?" : frame.module_name());
  text += "  ";
  text += frame.function.empty() ? "?" : frame.function;
  for (char& character : text) {
    if (static_cast<unsigned char>(character) < ' ') character = '?';
  }
  return text;
}

/// Selects the frames of a baseline.
struct BaselineFrames {
  /// Call address of the measured function: the `caller` of `frames_inside`.
  std::uintptr_t caller = 0;
  /// Omits internals of the standard library, inside the library function that the program called.
  /// This makes stacks shorter and independent of the library's version.
  bool without_library = false;
};

/// Converts `counted` to a baseline. Elements of `counted` have the members of `CountedStack`;
/// `named` must contain their stacks. Omits what the test framework allocated for assertions.
template <class Counts>
[[nodiscard]] Baseline baseline_of(const Counts& counted, const NamedStacks& named,
                                   const BaselineFrames& which) {
  const FrameworkFrames framework = TestFramework::frames();
  Baseline baseline;
  for (const auto& count : counted) {
    const auto frames = named.frames(count.stack);
    auto inside = frames_inside(frames, which.caller);
    if (framework.allocated(inside)) continue;
    if (which.without_library) inside = FrameworkFrames::without_library(inside);
    BaselineStack stack;
    for (const NamedFrame& frame : inside) stack.push_back(frame_text(frame));
    if (stack.empty()) stack.emplace_back(frames.empty() ? "(no stack)" : "(the function itself)");
    baseline.stacks[std::move(stack)] += {.allocations = count.allocations, .bytes = count.bytes};
  }
  return baseline;
}

}  // namespace alloctap::testing
