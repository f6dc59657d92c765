/// Stacks that a test chooses: for tests of everything behind the capture.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/stack/stack_capture.hpp"

namespace alloctap::testing {

/// Captures, on each thread, what that thread said last with `play`; nothing before that, which
/// counts as a failed walk.
struct ScriptedStack {
  static constexpr std::string_view name = "scripted";

  /// From now on the stack of the calling thread is `frames`, leaf first, which outlives its use.
  /// `failed`: the walk ends before the outermost frame.
  static void play(std::span<const std::uintptr_t> frames, bool failed = false) noexcept {
    script = {.frames = frames, .failed = failed};
  }

  static CapturedStack capture(ThreadState&, const CallOrigin&,
                               std::span<std::uintptr_t> frames) noexcept {
    const std::size_t depth = std::min(frames.size(), script.frames.size());
    std::copy_n(script.frames.begin(), depth, frames.begin());
    return {.depth = static_cast<std::uint32_t>(depth),
            .truncated = depth < script.frames.size(),
            .failed = script.failed};
  }

 private:
  struct Script {
    std::span<const std::uintptr_t> frames;
    bool failed;
  };

  static inline constinit thread_local Script script{.frames = {}, .failed = true};
};

static_assert(StackCapture<ScriptedStack>);

}  // namespace alloctap::testing
