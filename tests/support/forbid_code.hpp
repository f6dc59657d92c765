/// Makes this process one that may not make code of memory, as systemd's MemoryDenyWriteExecute=,
/// SELinux and PR_SET_MDWE do.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstddef>

namespace alloctap::testing {

/// What mprotect(2) is refused from then on.
enum class ForbiddenCode : unsigned {
  /// Memory that may be executed.
  kAny = PROT_EXEC,
  /// Memory that may be executed and written.
  kWritable = PROT_EXEC | PROT_WRITE,
};

/// For ever, also across exec. False where the system has no filters.
[[nodiscard]] inline bool forbid_code(ForbiddenCode forbidden) {
  const auto bits = static_cast<unsigned>(forbidden);
  std::array code{
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 4),
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),
      sock_filter BPF_STMT(BPF_ALU | BPF_AND | BPF_K, bits),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, bits, 0, 1),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog filter{.len = static_cast<unsigned short>(code.size()), .filter = code.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

}  // namespace alloctap::testing
