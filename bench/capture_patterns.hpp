/// What is done at a capture, and how the stack changes between two of them.
#pragma once

#include <alloctap/stack/stack_capture.hpp>
#include <cstdint>

#include "bench/call_depth.hpp"
#include "bench/call_paths.hpp"
#include "bench/keep.hpp"

namespace alloctap::bench {

inline constexpr std::uint32_t kMaxFrames = 512;

/// Writes all frames. As `Identify`, its function stands for the hooked one.
struct Frames {
  static constexpr const char* name = "frames";

  template <class Stack>
  ALLOCTAP_NOINLINE static std::uint32_t capture(ThreadState& thread) {
    const std::span<std::uintptr_t> room(thread.frames, kMaxFrames);
    const CapturedStack stack = Stack::capture(thread, ALLOCTAP_CALL_ORIGIN(), room);
    clobber_memory();
    return stack.depth;
  }
};

/// Knows the hash of the stack, by the same calls as a `Recorder` for an allocation.
struct Identify {
  static constexpr const char* name = "identify";

  template <class Stack>
  ALLOCTAP_NOINLINE static std::uint32_t capture(ThreadState& thread) {
    const CallOrigin origin = ALLOCTAP_CALL_ORIGIN();
    if constexpr (RecallingStackCapture<Stack>) {
      RememberedStack* recalled = Stack::recall(thread, origin, kMaxFrames);
      if (recalled != nullptr) [[likely]] {
        keep(recalled->hash);
        return recalled->stack.depth;
      }
      return keep_identified(Stack::identify_uncached(thread, origin, kMaxFrames, recalled));
    } else {
      return keep_identified(identify_stack<Stack>(thread, origin, kMaxFrames));
    }
  }

 private:
  static std::uint32_t keep_identified(IdentifiedStack identified) {
    keep(identified);
    return identified.stack.depth;
  }
};

/// All captures come from one stack. Here and below, `loop` is iterated over, and may be timed.
struct Steady {
  static constexpr const char* name = "steady";

  static std::uint32_t depth(std::uint32_t wanted) { return wanted; }

  template <class Loop, class Work>
  static void run(Loop& loop, std::uint32_t, Work work) {
    for (auto _ : loop) work();
  }
};

/// The program returns and calls again between two captures.
struct Varying {
  static constexpr const char* name = "varying";

  static std::uint32_t depth(std::uint32_t wanted) { return CallPaths(wanted).base_depth(); }

  template <class Loop, class Work>
  static void run(Loop& loop, std::uint32_t wanted, Work work) {
    CallPaths paths(wanted);
    for (auto _ : loop) follow<0>(paths.next(), work);
  }
};

/// Captures once for each turn of `loop`, below `wanted` frames. Returns the sum of the depths that
/// were captured.
template <class What, class Pattern, class Stack, class Loop>
std::uint64_t capture_in(Loop& loop, std::uint32_t wanted) {
  std::uint64_t frames = 0;
  const auto below = [&](std::uint32_t) {
    ThreadState& thread = *ThreadStates::mine();
    Pattern::run(loop, wanted, [&] { frames += What::template capture<Stack>(thread); });
  };
  AtDepth<decltype(below)>::run(Pattern::depth(wanted), below);
  return frames;
}

}  // namespace alloctap::bench
