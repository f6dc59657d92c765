#pragma once

#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "alloctap/os/memory_protection.hpp"

namespace alloctap::os {

/// What mprotect takes for pages whose branch targets are checked (PROT_BTI), where it does
/// (HWCAP2_BTI). The numbers are the kernel's ABI; old headers lack them.
inline int branch_guard() noexcept {
#if defined(__aarch64__)
  constexpr unsigned long kHasBranchTargets = 1UL << 17;
  constexpr int kGuarded = 0x10;
  return (::getauxval(AT_HWCAP2) & kHasBranchTargets) != 0 ? kGuarded : 0;
#else
  return 0;
#endif
}

inline bool protect_pages(std::uintptr_t address, std::size_t bytes,
                          Protection protection) noexcept {
  const int flags = (protection.readable ? PROT_READ : 0) | (protection.writable ? PROT_WRITE : 0) |
                    (protection.executable ? PROT_EXEC : 0) |
                    (protection.guarded ? branch_guard() : 0);
  return ::syscall(SYS_mprotect, address, bytes, flags) == 0;
}

inline std::string why_code_is_forbidden() {
  return "SELinux, a seccomp filter or PR_SET_MDWE may forbid it";
}

}  // namespace alloctap::os
