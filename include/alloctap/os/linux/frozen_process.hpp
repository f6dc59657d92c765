/// Process copies by ptrace(2) and clone(2). A thread cannot trace its own process, so a helper
/// process that shares the memory stops the threads, forks, and resumes the threads. The copy is a
/// child of the program without an exit signal: only waits with __WALL (wait(2)) see it.
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

/// Data that the calling thread shares with the helper process that stops it.
struct CopyJob {
  const FreezeRequest* request = nullptr;
  const TaskList* tasks = nullptr;
  ThreadId caller = 0;
  /// Set to 1 once the helper process is permitted to trace.
  std::atomic<std::uint32_t> may_begin{0};
  FrozenState state{};
  long copy = -ECHILD;
};

std::size_t count_threads() noexcept;

/// Runs the body in the copy. Closes `has_all` when the original process may be resumed.
[[noreturn]] void run_in_copy(CopyJob& job, const OpenedMemory& parent, File& has_all) noexcept;

/// Forks the copy, with `flags` for clone(2). Returns when the copy is complete or has ended.
long fork_copy(CopyJob& job, unsigned long flags) noexcept;

int stop_and_copy(void* argument) noexcept;

/// A scope guard that permits `tracer` to trace this process (PR_SET_PTRACER, prctl(2)), if the
/// Yama module requires permission. Also removes a permission that the program itself had set.
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

/// Returns true if children of this thread would be in another PID namespace (unshare(2),
/// setns(2)). The copy must not be the first process in it: when the copy exits, the kernel ends
/// the namespace, so the program could create no children. Returns true if the namespace's link is
/// unreadable, as before the namespace has its first process.
bool has_namespace_for_children() noexcept;

inline bool may_copy_process() noexcept { return !has_namespace_for_children(); }

inline void await_process(std::int32_t process) noexcept {
  while (::syscall(SYS_wait4, process, nullptr, __WALL, nullptr) < 0 && errno == EINTR) {
  }
}

/// Returns true if SIGCHLD has its default action, so that the program does not notice child exits.
inline bool ends_of_processes_go_unnoticed() noexcept {
  struct sigaction action{};
  return ::sigaction(SIGCHLD, nullptr, &action) == 0 && action.sa_handler == SIG_DFL;
}

/// Forks without a helper process, so other threads keep running. Used in qemu-user, which supports
/// neither a helper that shares memory nor forks without an exit signal.
void copy_unstopped(CopyJob& job) noexcept;

inline int FrozenProcess::start(const FreezeRequest& request) noexcept {
  const ErrnoGuard preserve_error;
  const TaskList tasks = TaskList::of_this_process();
  CopyJob job{.request = &request, .tasks = &tasks, .caller = current_thread_id()};
  // Blocks signals: the program's handlers must not run in the helper or copy, or delay `start`.
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
