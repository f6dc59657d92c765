/// Pages by raw system calls, because an interposing backend replaces libc's wrappers.
#pragma once

#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#include "alloctap/os/thread_local.hpp"
#include "alloctap/os/virtual_memory.hpp"

namespace alloctap::os {

inline std::size_t page_size() noexcept { return ::getauxval(AT_PAGESZ); }

inline void* map_pages(std::size_t bytes) noexcept {
  const ErrnoGuard preserve_error;
  const long result = ::syscall(SYS_mmap, nullptr, bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
  return result == -1 ? nullptr : reinterpret_cast<void*>(result);
}

inline bool map_pages_at(std::uintptr_t address, std::size_t bytes) noexcept {
  // Kernels before 4.17 ignore the flag, so the address is only a hint and the result may differ.
  constexpr int kFixedNoReplace = 0x100000;
  const ErrnoGuard preserve_error;
  const long result =
      ::syscall(SYS_mmap, address, bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | kFixedNoReplace, -1, 0L);
  if (result == -1) return false;
  if (static_cast<std::uintptr_t>(result) == address) return true;
  ::syscall(SYS_munmap, result, bytes);
  return false;
}

inline void unmap_pages(void* address, std::size_t bytes) noexcept {
  const ErrnoGuard preserve_error;
  ::syscall(SYS_munmap, address, bytes);
}

inline void use_huge_pages(void* address, std::size_t bytes, bool wanted) noexcept {
  const ErrnoGuard preserve_error;
  ::syscall(SYS_madvise, address, bytes, wanted ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

inline void bring_in_pages(void* address, std::size_t bytes) noexcept {
  // MADV_POPULATE_WRITE, since Linux 5.14.
  constexpr int kPopulateForWriting = 23;
  const ErrnoGuard preserve_error;
  ::syscall(SYS_madvise, address, bytes, kPopulateForWriting);
}

}  // namespace alloctap::os
