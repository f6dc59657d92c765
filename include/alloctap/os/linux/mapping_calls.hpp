/// mmap and related calls by syscall(2).
#pragma once

#include <linux/mman.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstddef>

#include "alloctap/os/mapping_calls.hpp"

namespace alloctap::os {

using FileOffset = off_t;

inline void* system_mmap(void* address, std::size_t length, int protection, int flags, int file,
                         FileOffset offset) noexcept {
  return reinterpret_cast<void*>(
      ::syscall(SYS_mmap, address, length, protection, flags, file, offset));
}

inline int system_munmap(void* address, std::size_t length) noexcept {
  return static_cast<int>(::syscall(SYS_munmap, address, length));
}

inline void* system_mremap(void* old, std::size_t old_length, std::size_t length, int flags,
                           void* address) noexcept {
  return reinterpret_cast<void*>(::syscall(SYS_mremap, old, old_length, length, flags, address));
}

inline int system_mprotect(void* address, std::size_t length, int protection) noexcept {
  return static_cast<int>(::syscall(SYS_mprotect, address, length, protection));
}

inline int system_pkey_mprotect(void* address, std::size_t length, int protection,
                                int key) noexcept {
  return static_cast<int>(::syscall(SYS_pkey_mprotect, address, length, protection, key));
}

inline int system_madvise(void* address, std::size_t length, int advice) noexcept {
  return static_cast<int>(::syscall(SYS_madvise, address, length, advice));
}

/// Returns true if madvise(2) with this advice zeroes pages, now or later.
inline bool discards_pages(int advice) noexcept {
  // MADV_DONTNEED_LOCKED, since Linux 5.18.
  constexpr int kDiscardsLocked = 24;
  return advice == MADV_DONTNEED || advice == MADV_FREE || advice == MADV_REMOVE ||
         advice == kDiscardsLocked;
}

/// Returns true for MADV_GUARD_INSTALL (Linux 6.13), which makes pages inaccessible.
inline bool closes_pages(int advice) noexcept {
  constexpr int kInstallsGuard = 102;
  return advice == kInstallsGuard;
}

inline bool mapping_failed(const void* result) noexcept { return result == MAP_FAILED; }

inline bool remap_keeps_old(std::size_t old_length, int flags) noexcept {
  return old_length == 0 || (flags & MREMAP_DONTUNMAP) != 0;
}

}  // namespace alloctap::os
