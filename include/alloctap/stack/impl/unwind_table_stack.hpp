/// The bodies of stack/unwind_table_stack.hpp.
#pragma once

#include <cstdint>

#include "alloctap/macros.hpp"
#include "alloctap/os/errno_guard.hpp"
#include "alloctap/pe/native_row.hpp"
#include "alloctap/stack/stack_capture.hpp"
#include "alloctap/stack/unwind_table_stack.hpp"

namespace alloctap {

ALLOCTAP_INLINE bool TableRules::is_code(std::uintptr_t address) const noexcept {
  const os::ErrnoGuard preserve_error;
  return native::is_module_code(address) || code_->contains(address);
}

ALLOCTAP_INLINE CapturedStack UnwindTableStack::capture(ThreadState& thread,
                                                        const CallOrigin& origin,
                                                        std::span<std::uintptr_t> frames) noexcept {
  return Capture::capture(thread, origin, frames);
}

ALLOCTAP_INLINE IdentifiedStack UnwindTableStack::identify(ThreadState& thread,
                                                           const CallOrigin& origin,
                                                           std::uint32_t max_frames) noexcept {
  return Capture::identify(thread, origin, max_frames);
}

ALLOCTAP_INLINE IdentifiedStack
UnwindTableStack::identify_uncached(ThreadState& thread, const CallOrigin& origin,
                                    std::uint32_t max_frames, RememberedStack* recalled) noexcept {
  return Capture::identify_uncached(thread, origin, max_frames, recalled);
}

ALLOCTAP_INLINE std::span<const std::uintptr_t> UnwindTableStack::identified_frames(
    ThreadState& thread, const IdentifiedStack& identified) noexcept {
  return Capture::identified_frames(thread, identified);
}

}  // namespace alloctap
