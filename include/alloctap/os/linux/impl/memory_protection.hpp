/// Definitions for os/linux/memory_protection.hpp.
#pragma once

#include <linux/futex.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "alloctap/macros.hpp"
#include "alloctap/os/errno_guard.hpp"
#include "alloctap/os/linux/memory_protection.hpp"
#include "alloctap/os/memory_protection.hpp"

namespace alloctap::os {

ALLOCTAP_INLINE int branch_guard() noexcept {
#if defined(__aarch64__)
  constexpr unsigned long kHasBranchTargets = 1UL << 17;
  constexpr int kGuarded = 0x10;
  return (::getauxval(AT_HWCAP2) & kHasBranchTargets) != 0 ? kGuarded : 0;
#else
  return 0;
#endif
}

ALLOCTAP_INLINE bool protect_pages(std::uintptr_t address, std::size_t bytes,
                                   Protection protection) noexcept {
  const int flags = (protection.readable ? PROT_READ : 0) | (protection.writable ? PROT_WRITE : 0) |
                    (protection.executable ? PROT_EXEC : 0) |
                    (protection.guarded ? branch_guard() : 0);
  return ::syscall(SYS_mprotect, address, bytes, flags) == 0;
}

/// Lets the kernel add 0 to a word of each page, which fails with EFAULT if the page is not
/// writable. Uses FUTEX_WAKE_OP (futex(2)): every seccomp filter permits futex, because
/// multi-threaded malloc needs it.
ALLOCTAP_INLINE bool may_write(std::uintptr_t address, std::size_t bytes) noexcept {
  constexpr unsigned kAddNothing = FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_EQ, 0);
  const ErrnoGuard preserve_error;
  const std::uintptr_t page = ::getauxval(AT_PAGESZ);
  std::uint32_t no_waiters = 0;
  for (std::uintptr_t at = address / page * page; at < address + bytes; at += page) {
    const long woken = ::syscall(SYS_futex, &no_waiters, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, 0UL,
                                 at, kAddNothing);
    if (woken < 0 && errno == EFAULT) return false;
  }
  return true;
}

}  // namespace alloctap::os
