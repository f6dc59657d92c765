/// From counts by stack to counts by the names of stacks.
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

/// The frames of `frames` inside of the measured function: without the call at `caller`, what is
/// outside of it, and the frame inside, which is that of `MeasuredCallable` (of the functions that
/// the compiler put into that one frame, only the last). All of them where no frame is that call,
/// as on other threads, and where a stack was cut before it.
[[nodiscard]] inline std::span<const NamedFrame> frames_inside(std::span<const NamedFrame> frames,
                                                               std::uintptr_t caller) noexcept {
  std::size_t end = frames.size();
  while (end > 0 && frames[end - 1].address != caller) --end;
  if (caller == 0 || end == 0) return frames;
  while (end > 0 && frames[end - 1].address == caller) --end;
  return frames.first(end > 0 ? end - 1 : 0);
}

/// "module  function", without what could break a line.
[[nodiscard]] inline std::string frame_text(const NamedFrame& frame) {
  std::string text(frame.module.empty() ? "?" : frame.module_name());
  text += "  ";
  text += frame.function.empty() ? "?" : frame.function;
  for (char& character : text) {
    if (static_cast<unsigned char>(character) < ' ') character = '?';
  }
  return text;
}

/// From whose frames a baseline is made.
struct BaselineFrames {
  /// Of the call of the measured function, as for `frames_inside`.
  std::uintptr_t caller = 0;
  /// Whether those are left out that are inside of the function of the C++ standard library that
  /// the program called: shorter, and the same with other versions of it.
  bool without_library = false;
};

/// What the counts come to by name. `named` has their stacks. What the test framework allocates,
/// for assertions inside of the function, is not in it. `counted`: a range of `CountedStack` or of
/// what has members of these names.
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
