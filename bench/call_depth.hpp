/// Runs code with a call stack of a given depth around it.
#pragma once

#include <pthread.h>

#include <alloctap/stack/backtrace_stack.hpp>
#include <cstdint>
#include <cstdlib>

#include "bench/keep.hpp"

namespace alloctap::bench {

/// How many frames of the program a hooked function sees above it when it is called here.
ALLOCTAP_NOINLINE inline std::uint32_t frames_here() {
  ThreadState& thread = *ThreadStates::mine();
  const CallOrigin origin = ALLOCTAP_CALL_ORIGIN();
  return BacktraceStack::capture(thread, origin, thread.frames).depth;
}

/// The frame address of the function that `AtDepth` starts a thread with.
inline thread_local const void* outermost_frame = nullptr;

/// Work to be done below a number of calls.
template <class Work>
class AtDepth {
 public:
  /// Runs `work(frames)` where a hooked function that it calls sees `frames` frames: the number
  /// wanted, unless that is less than the few which a thread begins with. On a thread of its own,
  /// because the main one has a dozen to begin with.
  static void run(std::uint32_t depth, Work work) {
    AtDepth job{depth, work};
    pthread_t thread{};
    if (pthread_create(&thread, nullptr, &start, &job) != 0) std::abort();
    pthread_join(thread, nullptr);
  }

 private:
  AtDepth(std::uint32_t depth, Work& work) : depth_(depth), work_(work) {}

  static void* start(void* job) {
    outermost_frame = __builtin_frame_address(0);
    static_cast<AtDepth*>(job)->descend();
    return nullptr;
  }

  /// The barrier after the calls keeps them from becoming jumps.
  ALLOCTAP_NOINLINE void descend() {
    const std::uint32_t here = frames_here();
    if (here < depth_) {
      descend();
    } else {
      work_(here);
    }
    clobber_memory();
  }

  std::uint32_t depth_;
  Work& work_;
};

}  // namespace alloctap::bench
