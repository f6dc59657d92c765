/// A stack capture policy with frames defined by a test.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/stack/stack_capture.hpp"

namespace alloctap::testing {

/// Returns as the captured stack the frames that the calling thread last passed to `play`. Before
/// the first `play`, returns a failed capture without frames.
struct ScriptedStack {
  static constexpr std::string_view name = "scripted";

  /// Sets the calling thread's frames, leaf first. They must stay valid until replaced. `failed`
  /// means that the stack walk ended before the outermost frame.
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
