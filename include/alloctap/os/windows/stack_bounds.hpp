#pragma once

#include "alloctap/os/stack_bounds.hpp"
#include "alloctap/os/windows/api.hpp"

namespace alloctap::os {

/// Finds the committed part of the stack. A stack is one allocation. It has, in this order, a
/// reserved part, a guard page, and the committed part.
inline StackBounds find_stack_bounds(std::uintptr_t address) noexcept {
  MEMORY_BASIC_INFORMATION region;
  const auto* const place = reinterpret_cast<const void*>(address);
  if (::VirtualQuery(place, &region, sizeof region) == 0) return {};
  constexpr DWORD kUnreadable = PAGE_NOACCESS | PAGE_GUARD | PAGE_EXECUTE;
  if (region.State != MEM_COMMIT || (region.Protect & kUnreadable) != 0) return {};
  const auto low = reinterpret_cast<std::uintptr_t>(region.BaseAddress);
  return {.low = low, .high = low + region.RegionSize};
}

inline std::uintptr_t initial_stack_pointer() noexcept { return UINTPTR_MAX; }

inline bool is_initial_frame(std::uintptr_t) noexcept { return false; }

}  // namespace alloctap::os
