// usage: confines_itself ACTION THREADS CALLS [COUNT]: keeps a block, confines itself by
// seccomp(2), frees and allocates, and ends with 5. ACTION: kill or errno, for calls that are
// refused; THREADS: one or all; CALLS: few (what malloc needs may be called), no-futex (without
// that), most (ptrace may not), start (what a thread calls when it starts may not). With COUNT, so
// many children do that one after the other. usage: confines_itself strict
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "busy_threads.hpp"

namespace {

using programs::keep;

using Filter = std::vector<sock_filter>;

void add_rule(Filter& filter, long call, unsigned action) {
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 1));
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, action));
}

Filter make_filter(unsigned refusal, std::string_view calls) {
  Filter filter{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  if (calls == "most" || calls == "start") {
    if (calls == "most") add_rule(filter, SYS_ptrace, refusal);
    if (calls == "start") add_rule(filter, SYS_set_robust_list, refusal);
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    return filter;
  }
  for (const long call : {SYS_read, SYS_write, SYS_brk, SYS_mmap, SYS_munmap, SYS_mprotect,
                          SYS_mremap, SYS_madvise, SYS_rt_sigreturn, SYS_exit_group}) {
    add_rule(filter, call, SECCOMP_RET_ALLOW);
  }
  if (calls != "no-futex") add_rule(filter, SYS_futex, SECCOMP_RET_ALLOW);
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, refusal));
  return filter;
}

bool confine(Filter filter, bool all_threads) {
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  // What cannot be installed changes nothing.
  if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, nullptr) == 0) return false;
  if (!all_threads) return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

void allocate() {
  for (std::size_t i = 0; i < 1000; ++i) std::free(keep(std::malloc(100 + i)));
  // The heap falls from a peak.
  for (std::size_t bytes = 1 << 20; bytes < 64 << 20; bytes *= 2)
    std::free(keep(std::malloc(bytes)));
  keep(std::malloc(1 << 20));
}

bool all_ended_well = true;

/// Returns true in each of `count` children, and false in the parent when they have ended.
bool is_one_of_children(int count) {
  for (int i = 0; i < count; ++i) {
    const pid_t child = ::fork();
    if (child == 0) return true;
    int status = 0;
    ::waitpid(child, &status, 0);
    all_ended_well = all_ended_well && WIFEXITED(status) && WEXITSTATUS(status) == 5;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  keep(std::malloc(24));
  if (argc == 2) {
    ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0);
    ::syscall(SYS_exit, 5);
  }
  if (argc == 5 && !is_one_of_children(std::atoi(argv[4]))) return all_ended_well ? 5 : 1;
  if (argc < 4) return 2;
  const bool kills = std::string_view(argv[1]) == "kill";
  const unsigned refusal = kills ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | 1U;
  if (!confine(make_filter(refusal, argv[3]), std::string_view(argv[2]) == "all")) return 9;
  allocate();
  return 5;
}
