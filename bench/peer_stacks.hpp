/// Other ways to walk a stack, in the shape of our policies, without what those do to be safe and
/// to leave the tracker's own frames out.
#pragma once

#include <dlfcn.h>
#include <unwind.h>

#include <alloctap/arch/frame_record.hpp>
#include <alloctap/stack/stack_capture.hpp>
#include <cstdint>

#include "bench/call_depth.hpp"

namespace alloctap::bench {

/// Follows frame records and looks at nothing but where to stop: below `AtDepth`.
struct BareFramePointerWalk {
  static constexpr std::string_view name = "bare_frame_pointer_walk";

  static CapturedStack capture(ThreadState&, const CallOrigin& origin,
                               std::span<std::uintptr_t> frames) noexcept {
    CapturedStack stack;
    const auto* record = static_cast<const arch::FrameRecord*>(origin.frame);
    const void* const outermost = outermost_frame;
    while (stack.depth < frames.size()) {
      frames[stack.depth++] = record->return_address;
      if (record == outermost) break;
      record = reinterpret_cast<const arch::FrameRecord*>(record->caller_frame);
    }
    return stack;
  }
};

struct BareUnwindBacktrace {
  static constexpr std::string_view name = "_Unwind_Backtrace";

  static CapturedStack capture(ThreadState&, const CallOrigin&,
                               std::span<std::uintptr_t> frames) noexcept {
    Walk walk{frames, 0};
    ::_Unwind_Backtrace(&visit, &walk);
    return {.depth = walk.depth};
  }

 private:
  struct Walk {
    std::span<std::uintptr_t> frames;
    std::uint32_t depth;
  };

  static _Unwind_Reason_Code visit(_Unwind_Context* context, void* argument) noexcept {
    Walk& walk = *static_cast<Walk*>(argument);
    if (walk.depth == walk.frames.size()) return _URC_END_OF_STACK;
    walk.frames[walk.depth++] = ::_Unwind_GetIP(context);
    return _URC_NO_REASON;
  }
};

/// libunwind's, with the cache per thread that heaptrack chooses. The library is opened, not
/// linked: it has an `_Unwind_Backtrace` of its own, which would take the place of the compiler's.
class LibunwindBacktrace {
 public:
  static constexpr std::string_view name = "libunwind_unw_backtrace";

  /// Whether the library is installed. To be called first.
  static bool load() noexcept {
    void* library = ::dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return false;
    function_ = reinterpret_cast<Function>(::dlsym(library, "unw_backtrace"));
    cache_per_thread(library);
    return function_ != nullptr;
  }

  static CapturedStack capture(ThreadState&, const CallOrigin&,
                               std::span<std::uintptr_t> frames) noexcept {
    auto** room = reinterpret_cast<void**>(frames.data());
    const int depth = function_(room, static_cast<int>(frames.size()));
    return {.depth = static_cast<std::uint32_t>(depth)};
  }

 private:
  using Function = int (*)(void**, int);
  using SetPolicy = int (*)(void*, int);

  /// `unw_set_caching_policy(unw_local_addr_space, UNW_CACHE_PER_THREAD)`.
  static void cache_per_thread(void* library) noexcept {
    constexpr int kCachePerThread = 2;
    auto** space = static_cast<void**>(::dlsym(library, "_ULx86_64_local_addr_space"));
    auto set = reinterpret_cast<SetPolicy>(::dlsym(library, "_ULx86_64_set_caching_policy"));
    if (space != nullptr && set != nullptr) set(*space, kCachePerThread);
  }

  static inline Function function_ = nullptr;
};

}  // namespace alloctap::bench
