// usage: needs_end_signals PROGRAM [ARGS...]
// Runs PROGRAM where a process must send a signal when it ends, as qemu-user wants it.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>

namespace {

/// For ever, also across exec. False where the system has no filters.
bool refuse_processes_without_end_signal() {
  constexpr unsigned kSignalOrThread = CSIGNAL | CLONE_THREAD;
  std::array code{
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[0])),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, kSignalOrThread, 1, 0),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog filter{.len = static_cast<unsigned short>(code.size()), .filter = code.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) return 2;
  if (!refuse_processes_without_end_signal()) return 3;
  execv(arguments[1], arguments + 1);
  return 4;
}
