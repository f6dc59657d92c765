/// Raw system calls without libc, for code that replaces libc functions.
#pragma once

#include <linux/audit.h>
#include <sys/syscall.h>

#include <cstdint>

#include "alloctap/macros.hpp"

namespace alloctap::os {

#if defined(__x86_64__)

/// Architecture number that seccomp filters receive.
inline constexpr std::uint32_t kAuditArchitecture = AUDIT_ARCH_X86_64;
/// Numbers of the system calls behind libc's readlink, rename and unlink.
inline constexpr long kReadLinkCall = SYS_readlink;
inline constexpr long kRenameCall = SYS_rename;
inline constexpr long kUnlinkCall = SYS_unlink;

/// Executes the system call. Returns the result, or the negated error.
ALLOCTAP_ALWAYS_INLINE long raw_system_call(long number, long a, long b, long c, long d, long e,
                                            long f) noexcept {
  register long fourth ALLOCTAP_ASM("r10") = d;
  register long fifth ALLOCTAP_ASM("r8") = e;
  register long sixth ALLOCTAP_ASM("r9") = f;
  long result;
  ALLOCTAP_ASM volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth),
                        "r"(fifth), "r"(sixth) : "rcx", "r11", "memory");
  return result;
}

#elif defined(__aarch64__)

inline constexpr std::uint32_t kAuditArchitecture = AUDIT_ARCH_AARCH64;
inline constexpr long kReadLinkCall = SYS_readlinkat;
inline constexpr long kRenameCall = SYS_renameat;
inline constexpr long kUnlinkCall = SYS_unlinkat;

ALLOCTAP_ALWAYS_INLINE long raw_system_call(long number, long a, long b, long c, long d, long e,
                                            long f) noexcept {
  register long call ALLOCTAP_ASM("x8") = number;
  register long first ALLOCTAP_ASM("x0") = a;
  register long second ALLOCTAP_ASM("x1") = b;
  register long third ALLOCTAP_ASM("x2") = c;
  register long fourth ALLOCTAP_ASM("x3") = d;
  register long fifth ALLOCTAP_ASM("x4") = e;
  register long sixth ALLOCTAP_ASM("x5") = f;
  ALLOCTAP_ASM volatile("svc #0" : "+r"(first) : "r"(call), "r"(second), "r"(third), "r"(fourth),
                        "r"(fifth), "r"(sixth) : "memory");
  return first;
}

#else
#error "alloctap/os/linux/raw_system_call.hpp does not know this processor"
#endif

}  // namespace alloctap::os
