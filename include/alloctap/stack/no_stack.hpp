/// A stack capture policy that records the return address alone.
#pragma once

#include "alloctap/stack/stack_capture.hpp"

namespace alloctap {

/// The cheapest policy: records only the caller of the hooked function. Suffices if allocation
/// sites call the allocator directly, not through a wrapper function.
struct NoStack {
  static constexpr std::string_view name = "none";

  static CapturedStack capture(ThreadState&, const CallOrigin& origin,
                               std::span<std::uintptr_t> frames) noexcept {
    frames[0] = reinterpret_cast<std::uintptr_t>(origin.caller);
    return {.depth = 1};
  }
};

static_assert(StackCapture<NoStack>);

}  // namespace alloctap
