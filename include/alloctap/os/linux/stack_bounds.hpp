#pragma once

#include <array>
#include <atomic>
#include <charconv>
#include <string_view>

#include "alloctap/macros.hpp"
#include "alloctap/os/file.hpp"
#include "alloctap/os/memory_map.hpp"
#include "alloctap/os/stack_bounds.hpp"
#include "alloctap/os/virtual_memory.hpp"

// glibc's loader notes it down, and forgets it when a library wants executable stacks.
extern "C" __attribute__((weak)) void* __libc_stack_end;

namespace alloctap::os {

/// Field 28 of proc(5)'s stat; 0 where it is not told. The second field is a name in parentheses,
/// which may hold anything.
inline std::uintptr_t start_of_stack_in(std::string_view stat) noexcept {
  constexpr int kFieldsBetween = 26;
  const std::size_t name_end = stat.rfind(')');
  if (name_end == stat.npos) return 0;
  stat.remove_prefix(name_end);
  for (int i = 0; i < kFieldsBetween; ++i) {
    const std::size_t space = stat.find(' ');
    if (space == stat.npos) return 0;
    stat.remove_prefix(space + 1);
  }
  std::uintptr_t address = 0;
  static_cast<void>(std::from_chars(stat.data(), stat.data() + stat.size(), address));
  return address;
}

ALLOCTAP_NOINLINE inline std::uintptr_t find_initial_stack_pointer() noexcept {
  if (&__libc_stack_end != nullptr && __libc_stack_end != nullptr) {
    return reinterpret_cast<std::uintptr_t>(__libc_stack_end);
  }
  int error = 0;
  const File file = open_for_reading("/proc/self/stat", error);
  std::array<char, 1024> stat;
  const std::ptrdiff_t bytes = file.is_open() ? read_some(file.descriptor(), stat) : 0;
  const std::uintptr_t told =
      bytes > 0 ? start_of_stack_in({stat.data(), static_cast<std::size_t>(bytes)}) : 0;
  return told != 0 ? told : UINTPTR_MAX;
}

inline std::uintptr_t initial_stack_pointer() noexcept {
  static constinit std::atomic<std::uintptr_t> kept{0};
  std::uintptr_t known = kept.load(std::memory_order_relaxed);
  if (known == 0) [[unlikely]] {
    known = find_initial_stack_pointer();
    kept.store(known, std::memory_order_relaxed);
  }
  return known;
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
