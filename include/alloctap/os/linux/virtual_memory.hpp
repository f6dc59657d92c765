// Raw system calls: the libc wrappers are symbols that an interposing backend replaces.
#pragma once

#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#include "alloctap/os/virtual_memory.hpp"

namespace alloctap::os {

inline std::size_t page_size() noexcept { return ::getauxval(AT_PAGESZ); }

inline void* map_pages(std::size_t bytes) noexcept {
  const long result = ::syscall(SYS_mmap, nullptr, bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
  return result == -1 ? nullptr : reinterpret_cast<void*>(result);
}

inline void unmap_pages(void* address, std::size_t bytes) noexcept {
  ::syscall(SYS_munmap, address, bytes);
}

inline void use_huge_pages(void* address, std::size_t bytes, bool wanted) noexcept {
  ::syscall(SYS_madvise, address, bytes, wanted ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

}  // namespace alloctap::os
