/// Process copies by ptrace(2) and clone(2), with the memory that fork omits.
///
/// A thread cannot trace its own process, so a helper process that shares the memory stops the
/// threads, forks, and resumes the threads. The copy is a child of the program without an exit
/// signal: only waits with __WALL (wait(2)) see it.
#pragma once

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/os/file.hpp"
#include "alloctap/os/frozen_process.hpp"
#include "alloctap/os/futex.hpp"
#include "alloctap/os/linux/memory_map.hpp"
#include "alloctap/os/linux/thread_stops.hpp"
#include "alloctap/os/thread_local.hpp"
#include "alloctap/os/virtual_memory.hpp"

namespace alloctap::os {

/// /proc files of a process, opened before it forks and used by the child.
struct OpenedMemory {
  /// Opens the files. Returns 0, or the negated errno if `map` cannot be opened. A non-dumpable
  /// process (prctl(2)) cannot open the other files, so its child copies nothing.
  int open() noexcept;

  File map;
  File page_map;
  File memory;
};

/// Runs in a forked child. Copies memory that fork omitted (MADV_DONTFORK, set by some drivers) or
/// zeroed (MADV_WIPEONFORK; madvise(2)) from the stopped parent to equal addresses. Does not look
/// up the flags: in /proc, only smaps shows them, and a read of smaps makes the kernel visit every
/// page. Allocates nothing; not thread-safe.
class UnforkedMemory {
 public:
  /// Maximum number of bytes to copy. Limited, because the threads are stopped during the copy.
  static constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 30;

  /// `parent` must outlive this object.
  explicit UnforkedMemory(const OpenedMemory& parent) noexcept : parent_(parent) {}

  /// Copies the memory. Called once.
  void fetch() noexcept;

  /// Returns the number of bytes that may have contents but could not be copied.
  [[nodiscard]] std::uint64_t unread_bytes() const noexcept { return unread_bytes_; }

 private:
  static constexpr std::size_t kMaxListed = std::size_t{1} << 30;

  static bool is_plain(const MemoryRegion& region) noexcept {
    return !region.shared && (region.path.empty() || region.path.front() == '[');
  }

  /// Returns true for unreadable regions that are shared, mapped from a file, or very large.
  static bool is_out_of_reach(const MemoryRegion& region) noexcept {
    return !region.readable && (!is_plain(region) || region.end - region.start > kMaxListed);
  }

  static bool is_mapped(std::uintptr_t address) noexcept {
    unsigned char in_memory = 0;
    return ::syscall(SYS_mincore, address, page_size(), &in_memory) == 0 || errno != ENOMEM;
  }

  /// Returns true if fork zeroed the region: this process has no page of it, but the parent has
  /// one. Fork copies all pages of a mapping or none.
  [[nodiscard]] bool is_wiped(const MemoryRegion& region, int own) const noexcept {
    return !has_page(own, region) && has_page(parent_.page_map.descriptor(), region);
  }

  static bool has_page(int page_map, const MemoryRegion& region) noexcept;

  void fetch_missing(const MemoryRegion& region) noexcept;

  void fetch_wiped(const MemoryRegion& region) noexcept;

  void fetch_pages(const MemoryRegion& region) noexcept {
    visit_present_pages(parent_.page_map.descriptor(), region.start, region.end,
                        [this](std::uintptr_t start, std::uintptr_t end) { fetch(start, end); });
  }

  void fetch(std::uintptr_t start, std::uintptr_t end) noexcept;

  static void protect_again(const MemoryRegion& region) noexcept {
    if (!region.writable) protect(region, region.readable ? PROT_READ : PROT_NONE);
  }

  static void protect(const MemoryRegion& region, int protection) noexcept {
    ::syscall(SYS_mprotect, region.start, region.end - region.start, protection);
  }

  const OpenedMemory& parent_;
  std::uint64_t fetched_bytes_ = 0;
  std::uint64_t unread_bytes_ = 0;
};

[[nodiscard]] constexpr bool can_copy_process() noexcept { return true; }

void* map_shared_pages(std::size_t bytes) noexcept;

/// Data that the calling thread shares with the helper process that stops the other threads.
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

/// Runs the body in the copy. Once the copy has all memory, closes the pipe end `has_all`.
[[noreturn]] void run_in_copy(CopyJob& job, const OpenedMemory& parent, File& has_all) noexcept;

/// Forks the copy, with `flags` for clone(2). Blocks until the copy has all memory or has ended.
/// Returns its process id, or the negated errno.
long fork_copy(CopyJob& job, unsigned long flags) noexcept;

int stop_and_copy(void* argument) noexcept;

/// A scope guard that permits `tracer` to trace this process (PR_SET_PTRACER, prctl(2)), if the
/// Yama module requires permission. The destructor also removes a permission set by the program.
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
/// setns(2)). The copy must not be the first process in that namespace: when the copy exits, the
/// kernel ends the namespace, so the program could create no children. Also returns true if the
/// namespace's link is unreadable, as it is before the namespace has a process.
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
  // Blocks signals, so that no handler of the program runs in the helper or copy, or delays this.
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
