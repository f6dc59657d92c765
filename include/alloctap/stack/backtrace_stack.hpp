/// A stack capture policy that uses the C++ runtime's unwinder.
#pragma once

#include <unwind.h>

#include "alloctap/macros.hpp"
#include "alloctap/os/memory_map.hpp"
#include "alloctap/stack/stack_capture.hpp"

namespace alloctap {

/// A capture policy that walks with `_Unwind_Backtrace` of the Itanium C++ ABI (level I, section
/// 1.5). The unwinder reads .eh_frame, so it needs no frame pointers and passes signal frames. It
/// is slow, at about 150 ns per frame, but correct wherever exceptions work. Runs inside malloc.
///
/// libgcc's unwinder takes no lock and allocates nothing if the C library has _dl_find_object
/// (glibc 2.35). With an older C library, the unwinder calls the loader, which takes a lock.
struct BacktraceStack {
  static constexpr std::string_view name = "backtrace";

  ALLOCTAP_NOINLINE static CapturedStack capture(ThreadState&, const CallOrigin& origin,
                                                 std::span<std::uintptr_t> frames) noexcept {
    Walk walk{.caller = reinterpret_cast<std::uintptr_t>(origin.caller),
              .allocator = origin.allocator,
              .frames = frames};
    ::_Unwind_Backtrace(&visit, &walk);
    if (walk.stack.depth == 0) return caller_only(walk);
    walk.stack.failed = !walk.stack.truncated && !walk.reached_end;
    return walk.stack;
  }

 private:
  struct Walk {
    std::uintptr_t caller;
    const AllocatorFrames* allocator;
    std::span<std::uintptr_t> frames;
    CapturedStack stack{};
    bool met_caller = false;
    bool reached_end = false;
  };

  static _Unwind_Reason_Code visit(_Unwind_Context* context, void* argument) noexcept {
    Walk& walk = *static_cast<Walk*>(argument);
    int interrupted = 0;
    const std::uintptr_t ip = ::_Unwind_GetIPInfo(context, &interrupted);
    // The outermost frame has an undefined return address, so the unwinder reports ip 0 after it.
    // While constructors run, the outermost frame belongs to the loader and has a defined return
    // address. That frame is recognized by its CFA.
    walk.reached_end = ip == 0 || os::is_initial_frame(::_Unwind_GetCFA(context));
    walk.met_caller |= ip == walk.caller;
    const bool in_allocator =
        walk.stack.depth == 0 && walk.allocator != nullptr && walk.allocator->contains(ip);
    if (ip == 0 || !walk.met_caller || in_allocator) return _URC_NO_REASON;
    if (walk.stack.depth == walk.frames.size()) {
      walk.stack.truncated = true;
      return _URC_END_OF_STACK;
    }
    walk.frames[walk.stack.depth++] = ip + (interrupted != 0 ? 1 : 0);
    return _URC_NO_REASON;
  }

  /// Returns the caller alone. Used if the walk never met the caller, or met only allocator frames.
  static CapturedStack caller_only(const Walk& walk) noexcept {
    walk.frames[0] = walk.caller;
    return {.depth = 1, .failed = true};
  }
};

static_assert(StackCapture<BacktraceStack>);

}  // namespace alloctap
