#pragma once

#include <sys/auxv.h>

#include <cstdint>

#include "alloctap/macros.hpp"
#include "alloctap/os/errno_guard.hpp"
#include "alloctap/os/memory_map.hpp"
#include "alloctap/os/stack_bounds.hpp"
#include "alloctap/os/virtual_memory.hpp"

// The initial stack pointer, set by glibc's loader.
extern "C" ALLOCTAP_WEAK void* __libc_stack_end;

namespace alloctap::os {

inline std::uintptr_t initial_stack_pointer() noexcept {
  return &__libc_stack_end != nullptr ? reinterpret_cast<std::uintptr_t>(__libc_stack_end)
                                      : UINTPTR_MAX;
}

inline bool is_initial_frame(std::uintptr_t sp) noexcept {
  if (sp < initial_stack_pointer()) return false;
  const ErrnoGuard preserve_error;
  // The kernel places this string above everything else on the initial stack, so it bounds frames.
  const auto name = static_cast<std::uintptr_t>(::getauxval(AT_EXECFN));
  return name == 0 || sp <= name;
}

inline StackBounds find_stack_bounds(std::uintptr_t address) noexcept {
  constexpr std::size_t kBufferBytes = 64 * 1024;
  auto* buffer = static_cast<char*>(map_pages(kBufferBytes));
  if (buffer == nullptr) return {};
  StackBounds bounds;
  visit_memory_map({buffer, kBufferBytes}, [&](const MemoryRegion& region) {
    if (address >= region.end) return true;
    if (address >= region.start && region.readable) bounds = {region.start, region.end};
    return false;
  });
  unmap_pages(buffer, kBufferBytes);
  return bounds;
}

}  // namespace alloctap::os
