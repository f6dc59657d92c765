/// Definitions for stack/unwind_table_stack.hpp.
#pragma once

#include <algorithm>

#include "alloctap/os/clock.hpp"
#include "alloctap/os/thread_local.hpp"
#include "alloctap/os/virtual_memory.hpp"
#include "alloctap/pe/native_row.hpp"
#include "alloctap/stack/unwind_table_stack.hpp"

namespace alloctap {

ALLOCTAP_NOINLINE ALLOCTAP_INLINE bool CodeRegions::contains(std::uintptr_t address) noexcept {
  const std::int64_t now = os::coarse_monotonic_ns();
  if (now >= period_end_) {
    period_end_ = now + kPeriodNs;
    reads_ = 0;
  }
  const auto known = regions_.begin() + reads_;
  const auto holds = [=](const Region& region) { return region.bounds.contains(address); };
  auto region = std::find_if(regions_.begin(), known, holds);
  if (region == known) {
    if (reads_ == kMaxReads) return false;
    *region = read(address);
    ++reads_;
  }
  return region->executable;
}

ALLOCTAP_INLINE CodeRegions::Region CodeRegions::read(std::uintptr_t address) noexcept {
  constexpr std::size_t kBufferBytes = 64 * 1024;
  Region region{.bounds = {.low = 0, .high = UINTPTR_MAX}, .executable = false};
  auto* const buffer = static_cast<char*>(os::map_pages(kBufferBytes));
  if (buffer == nullptr) return region;
  os::visit_memory_map({buffer, kBufferBytes}, [&](const os::MemoryRegion& mapped) {
    if (address >= mapped.end) {
      region.bounds.low = mapped.end;
      return true;
    }
    const bool inside = address >= mapped.start;
    region.bounds = inside ? os::StackBounds{mapped.start, mapped.end}
                           : os::StackBounds{region.bounds.low, mapped.start};
    region.executable = inside && mapped.executable;
    return false;
  });
  os::unmap_pages(buffer, kBufferBytes);
  return region;
}

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
