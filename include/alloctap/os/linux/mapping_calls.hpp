#pragma once

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstddef>

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

}  // namespace alloctap::os
