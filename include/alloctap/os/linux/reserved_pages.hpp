// Raw system calls: the libc wrappers are symbols that an interposing backend replaces.
#pragma once

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstdint>

#include "alloctap/os/process.hpp"
#include "alloctap/os/reserved_pages.hpp"

namespace alloctap::os {

inline void* map_inaccessible(void* address, std::size_t bytes, int fixed) noexcept {
  const long result = ::syscall(SYS_mmap, address, bytes, PROT_NONE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0L);
  return result == -1 ? nullptr : reinterpret_cast<void*>(result);
}

inline void* reserve_pages(std::size_t bytes) noexcept {
  return map_inaccessible(nullptr, bytes, 0);
}

inline void unreserve_pages(void* address, std::size_t bytes) noexcept {
  ::syscall(SYS_munmap, address, bytes);
}

inline bool open_pages(void* address, std::size_t bytes) noexcept {
  return ::syscall(SYS_mprotect, address, bytes, PROT_READ | PROT_WRITE) == 0;
}

/// In one call, where mprotect and madvise would be two.
inline bool close_pages(void* address, std::size_t bytes) noexcept {
  return map_inaccessible(address, bytes, MAP_FIXED) == address;
}

inline AddressLimits address_limits() noexcept {
  AddressLimits limits;
  rlimit space{};
  constexpr int kSelf = 0;
  const long asked = ::syscall(SYS_prlimit64, kSelf, static_cast<int>(RLIMIT_AS), nullptr, &space);
  if (asked == 0 && space.rlim_cur != RLIM_INFINITY) limits.bytes = space.rlim_cur;
  char text[32];
  const std::size_t length = read_file_start("/proc/sys/vm/max_map_count", text);
  std::from_chars(text, text + length, limits.ranges);
  return limits;
}

}  // namespace alloctap::os
