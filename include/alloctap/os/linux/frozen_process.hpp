// The kernel forbids a thread to trace others of its own process, so a process that shares the
// memory does: it stops the threads, forks, and lets them go. Its fork is a child of the program,
// whose end sends no signal and is seen only by who waits for such (clone(2), wait(2)).
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <span>

#include "alloctap/os/error_preserver.hpp"
#include "alloctap/os/file.hpp"
#include "alloctap/os/frozen_process.hpp"
#include "alloctap/os/futex.hpp"
#include "alloctap/os/linux/raw_system_call.hpp"
#include "alloctap/os/linux/thread_stops.hpp"
#include "alloctap/os/linux/unforked_memory.hpp"

namespace alloctap::os {

[[nodiscard]] constexpr bool can_copy_process() noexcept { return true; }

inline void* map_shared_pages(std::size_t bytes) noexcept {
  const long result = ::syscall(SYS_mmap, nullptr, bytes, PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
  return result == -1 ? nullptr : reinterpret_cast<void*>(result);
}

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

inline std::size_t count_threads() noexcept {
  std::size_t count = 0;
  TaskList::of_this_process().visit([&count](ThreadId) { ++count; });
  return std::max<std::size_t>(count, 1);
}

/// `has_all` is closed when the process need not stand still any more.
[[noreturn]] inline void run_in_copy(CopyJob& job, const OpenedMemory& parent,
                                     File& has_all) noexcept {
  ::syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  UnforkedMemory memory(parent);
  memory.fetch();
  has_all.close();
  job.state.unread_bytes = memory.unread_bytes();
  job.request->body(job.request->argument, job.state);
  for (;;) raw_system_call(SYS_exit_group, 0, 0, 0, 0, 0, 0);
}

/// The copy is made here: `flags` beside those of a plain fork. Returns when it has all memory, or
/// has ended.
inline long fork_copy(CopyJob& job, unsigned long flags) noexcept {
  OpenedMemory own;
  if (const int error = own.open(); error != 0) return error;
  int ends[2];
  if (::syscall(SYS_pipe2, ends, O_CLOEXEC) != 0) return -errno;
  const File reader(ends[0]);
  File writer(ends[1]);
  const long copy = ::syscall(SYS_clone, flags, 0, 0, 0, 0);
  if (copy == 0) run_in_copy(job, own, writer);
  if (copy < 0) return -errno;
  writer.close();
  char nothing[1];
  read_some(reader.descriptor(), nothing);
  return copy;
}

inline int stop_and_copy(void* argument) noexcept {
  CopyJob& job = *static_cast<CopyJob*>(argument);
  while (job.may_begin.load(std::memory_order_acquire) == 0) futex_wait(job.may_begin, 0);
  ThreadStops stops(*job.tasks, job.caller, job.request->threads);
  stops.stop_all();
  job.state = {.threads = stops.count(), .unseen = stops.unseen()};
  job.copy = fork_copy(job, CLONE_PARENT);
  stops.release();
  // Which ends this process, and leaves nothing of AddressSanitizer's around the frame.
  return 0;
}

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
  static bool restricted() noexcept {
    int error = 0;
    const File file = open_for_reading("/proc/sys/kernel/yama/ptrace_scope", error);
    char scope[2] = {};
    return error == 0 && read_some(file.descriptor(), scope) > 0 && scope[0] != '0';
  }

  bool needed_;
};

/// Whether a process that this thread makes would be in another PID namespace than this one
/// (unshare(2), setns(2)): as the first one there it would end the namespace with itself, for the
/// program's children too. Where the namespace has no process yet, the kernel does not say which it
/// is.
inline bool has_namespace_for_children() noexcept {
  const auto read = [](const char* path, std::span<char> link) {
    return ::syscall(SYS_readlinkat, AT_FDCWD, path, link.data(), link.size());
  };
  char own[64] = {};
  char childrens[64] = {};
  struct stat exists{};
  return ::lstat("/proc/thread-self/ns/pid_for_children", &exists) == 0 &&
         read("/proc/thread-self/ns/pid", own) > 0 &&
         (read("/proc/thread-self/ns/pid_for_children", childrens) <= 0 ||
          std::strcmp(own, childrens) != 0);
}

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
inline void copy_unstopped(CopyJob& job) noexcept {
  job.tasks->visit([&](ThreadId task) { job.state.unseen += task != job.caller ? 1 : 0; });
  job.copy = fork_copy(job, 0);
  if (job.copy == -EINVAL && ends_of_processes_go_unnoticed()) {
    job.copy = fork_copy(job, SIGCHLD);
  }
}

inline int FrozenProcess::start(const FreezeRequest& request) noexcept {
  const ErrorPreserver preserve_error;
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
  const ErrorPreserver preserve_error;
  if (process_ > 0) await_process(process_);
  process_ = 0;
}

}  // namespace alloctap::os
