// The kernel forbids a thread to trace others of its own process, so a process that shares the
// memory does: it stops the threads, forks, and lets them go. Its fork is a child of the program,
// whose end sends no signal and is seen only by who waits for such (clone(2), wait(2)).
#pragma once

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "alloctap/os/errno_guard.hpp"
#include "alloctap/os/file.hpp"
#include "alloctap/os/frozen_process.hpp"
#include "alloctap/os/futex.hpp"
#include "alloctap/os/linux/thread_stops.hpp"
#include "alloctap/os/linux/unforked_memory.hpp"

namespace alloctap::os {

[[nodiscard]] constexpr bool can_copy_process() noexcept { return true; }

void* map_shared_pages(std::size_t bytes) noexcept;

/// What the calling thread and the process that stops it share.
struct CopyJob {
  const FreezeRequest* request = nullptr;
  const TaskList* tasks = nullptr;
  ThreadId caller = 0;
  /// Until 1 it has to wait for leave to trace.
  std::atomic<std::uint32_t> may_begin{0};
  FrozenState state{};
  long copy = -ECHILD;
};

std::size_t count_threads() noexcept;

/// `has_all` is closed when the process need not stand still any more.
[[noreturn]] void run_in_copy(CopyJob& job, const OpenedMemory& parent, File& has_all) noexcept;

/// The copy is made here: `flags` beside those of a plain fork. Returns when it has all memory, or
/// has ended.
long fork_copy(CopyJob& job, unsigned long flags) noexcept;

int stop_and_copy(void* argument) noexcept;

/// Where the Yama module lets descendants trace only who asked for it (prctl(2)), and for the time
/// of its life. What the program itself had asked for is forgotten.
class LeaveToTrace {
 public:
  explicit LeaveToTrace(ProcessId tracer) noexcept : needed_(restricted()) {
    if (needed_) ::syscall(SYS_prctl, PR_SET_PTRACER, tracer, 0, 0, 0);
  }
  ~LeaveToTrace() {
    if (needed_) ::syscall(SYS_prctl, PR_SET_PTRACER, 0, 0, 0, 0);
  }
  LeaveToTrace(const LeaveToTrace&) = delete;
  LeaveToTrace& operator=(const LeaveToTrace&) = delete;

 private:
  static bool restricted() noexcept;

  bool needed_;
};

/// Whether a process that this thread makes would be in another PID namespace than this one
/// (unshare(2), setns(2)): as the first one there it would end the namespace with itself, for the
/// program's children too. Where the namespace has no process yet, the kernel does not say which it
/// is.
bool has_namespace_for_children() noexcept;

inline bool may_copy_process() noexcept { return !has_namespace_for_children(); }

inline void await_process(std::int32_t process) noexcept {
  while (::syscall(SYS_wait4, process, nullptr, __WALL, nullptr) < 0 && errno == EINTR) {
  }
}

/// Whether the program takes no notice of the ends of its processes.
inline bool ends_of_processes_go_unnoticed() noexcept {
  struct sigaction action{};
  return ::sigaction(SIGCHLD, nullptr, &action) == 0 && action.sa_handler == SIG_DFL;
}

/// Without a process that could stop them: no other thread is seen. qemu-user, which has no such
/// processes, knows no fork either whose end sends no signal.
void copy_unstopped(CopyJob& job) noexcept;

inline int FrozenProcess::start(const FreezeRequest& request) noexcept {
  const ErrnoGuard preserve_error;
  const TaskList tasks = TaskList::of_this_process();
  CopyJob job{.request = &request, .tasks = &tasks, .caller = current_thread_id()};
  // A handler of the program must not run in another process, nor while others wait for this one.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const int helper =
      ::clone(&stop_and_copy, request.stack.data() + request.stack.size(), CLONE_VM, &job);
  if (helper >= 0) {
    const LeaveToTrace leave(helper);
    job.may_begin.store(1, std::memory_order_release);
    futex_wake_all(job.may_begin);
    await_process(helper);
  } else {
    copy_unstopped(job);
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  unseen_ = job.state.unseen;
  process_ = static_cast<std::int32_t>(std::max(job.copy, 0L));
  return static_cast<int>(std::min(job.copy, 0L));
}

inline void FrozenProcess::wait() noexcept {
  const ErrnoGuard preserve_error;
  if (process_ > 0) await_process(process_);
  process_ = 0;
}

}  // namespace alloctap::os

#ifndef ALLOCTAP_COMPILED
#include "alloctap/os/linux/impl/frozen_process.hpp"
#endif
