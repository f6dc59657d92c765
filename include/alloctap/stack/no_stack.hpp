/// No stack at all: only who called.
#pragma once

#include "alloctap/stack/stack_capture.hpp"

namespace alloctap {

/// Keeps the caller alone. The cheapest choice, and enough to tell allocation sites apart where no
/// wrapper stands between them and the allocator.
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
