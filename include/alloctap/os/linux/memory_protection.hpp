#pragma once

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "alloctap/os/memory_protection.hpp"

namespace alloctap::os {

inline bool protect_pages(std::uintptr_t address, std::size_t bytes,
                          Protection protection) noexcept {
  const int flags = (protection.readable ? PROT_READ : 0) | (protection.writable ? PROT_WRITE : 0) |
                    (protection.executable ? PROT_EXEC : 0);
  return ::syscall(SYS_mprotect, address, bytes, flags) == 0;
}

}  // namespace alloctap::os
