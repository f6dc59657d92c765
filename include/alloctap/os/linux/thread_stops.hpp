/// Stop-the-world by ptrace(2), and the thread list from /proc/self/task.
#pragma once

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>
#include <string_view>
#include <tuple>

#include "alloctap/os/clock.hpp"
#include "alloctap/os/file.hpp"
#include "alloctap/os/thread.hpp"

namespace alloctap::os {

/// Lists the threads of the process that created this object. Processes with the same descriptors
/// may use it, too. If /proc belongs to another PID namespace, as after `unshare --pid`, thread ids
/// are translated. Allocates nothing, so does not call opendir(3). Not thread-safe.
class TaskList {
 public:
  /// Returns the list of this process's threads; unreadable if /proc is not mounted.
  static TaskList of_this_process() noexcept;

  /// Calls `visit(ThreadId id, ThreadId listed)` for each thread; `listed` is the id in /proc. May
  /// miss threads created during the visit. Returns false if the threads cannot be listed.
  template <class Visit>
  bool visit(Visit&& visit) const noexcept {
    return visit_listed([&](ThreadId listed) {
      if (const ThreadId id = own_id(listed); id != 0) visit(id, listed);
    });
  }

  /// Returns the thread's state letter (proc(5)): 'R', 'S', 'D', 'Z', ...; '\0' for a missing
  /// thread. Must not be called during a visit, which reads the same directory.
  [[nodiscard]] char state(ThreadId id) const noexcept;

  /// As `state`, for the id in /proc. May be called during a visit.
  [[nodiscard]] char state_of_listed(ThreadId listed) const noexcept;

 private:
  static ThreadId parse(std::string_view text) noexcept;

  template <class Visit>
  bool visit_listed(Visit&& visit) const noexcept {
    struct Entry {
      std::uint64_t inode;
      std::int64_t offset;
      std::uint16_t length;
      unsigned char type;
      char name[1];
    };
    alignas(Entry) char buffer[4096];
    ::syscall(SYS_lseek, directory_.descriptor(), 0L, SEEK_SET);
    for (;;) {
      const long count = ::syscall(SYS_getdents64, directory_.descriptor(), buffer, sizeof buffer);
      if (count <= 0) return count == 0;
      for (long at = 0; at < count;) {
        const auto* entry = reinterpret_cast<const Entry*>(buffer + at);
        const ThreadId id = parse(buffer + at + offsetof(Entry, name));
        if (id != 0) visit(id);
        at += entry->length;
      }
    }
  }

  /// Returns the thread's id in the thread's PID namespace, the last NSpid entry (proc(5)); 0 if
  /// the thread does not exist.
  [[nodiscard]] ThreadId own_id(ThreadId listed) const noexcept;

  [[nodiscard]] std::string_view read(ThreadId listed, std::string_view file,
                                      std::span<char> buffer) const noexcept;

  File directory_;
  bool is_foreign_ = false;
};

/// Stops the threads of another process, which may share memory with the calling process. Uses
/// PTRACE_SEIZE, which sends no signal. Resumed threads continue their system calls.
class ThreadStops {
 public:
  /// Stops the threads in `tasks`, except `left_out`. `tasks` must outlive this object.
  ThreadStops(const TaskList& tasks, ThreadId left_out, std::span<ThreadRegisters> threads) noexcept
      : tasks_(tasks), left_out_(left_out), threads_(threads) {}

  /// Stops all threads; lists them repeatedly until no new thread appears.
  void stop_all() noexcept;

  /// Resumes all threads.
  void release() noexcept;

  [[nodiscard]] std::size_t count() const noexcept { return count_; }

  /// Returns the number of threads that could not be stopped.
  [[nodiscard]] std::size_t unseen() const noexcept;

 private:
  using Registers = user_regs_struct;

  /// The last of `values` is reserved for the number of a signal that the stop intercepted.
  static constexpr std::size_t kMaxWords = std::tuple_size_v<decltype(ThreadRegisters::values)> - 1;
#if defined(__x86_64__)
  static constexpr int kVectorRegisters = NT_X86_XSTATE;
#else
  static constexpr int kVectorRegisters = NT_PRFPREG;
#endif

  void seize(ThreadId task, ThreadId listed) noexcept;

  /// Waits until the thread has stopped or ended. Gives up after a timeout, or if the thread is
  /// blocked in the kernel, for example by a vfork child.
  void await(ThreadRegisters& thread) noexcept;

  [[nodiscard]] bool will_not_stop(ThreadId task, int round) const noexcept {
    constexpr int kSomeTime = 1024;
    return monotonic_ns() > give_up_ || (round > kSomeTime && tasks_.state(task) == 'D');
  }

  static void pause(int round) noexcept;

  static bool read(ThreadRegisters& thread, int status) noexcept;

  static std::size_t read_vectors(ThreadRegisters& thread) noexcept {
    iovec vectors{.iov_base = thread.values.data() + thread.count,
                  .iov_len = (kMaxWords - thread.count) * sizeof(std::uintptr_t)};
    const bool read = ::ptrace(PTRACE_GETREGSET, thread.id, kVectorRegisters, &vectors) == 0;
    return read ? vectors.iov_len / sizeof(std::uintptr_t) : 0;
  }

#if defined(__x86_64__)
  /// Returns true if the thread is in a system call. Its vector registers are then dead: a function
  /// made the system call, and functions may clobber these (System V ABI for x86-64, 3.2.1).
  static bool is_in_call(const Registers& registers) noexcept {
    return static_cast<long>(registers.orig_rax) >= 0;
  }

  /// Stores the general registers. Returns their number.
  static std::size_t note_general(ThreadRegisters& thread, const Registers& registers) noexcept {
    const std::uintptr_t values[] = {
        registers.rax, registers.rdx, registers.rcx,     registers.rbx,    registers.rsi,
        registers.rdi, registers.rbp, registers.rsp,     registers.r8,     registers.r9,
        registers.r10, registers.r11, registers.r12,     registers.r13,    registers.r14,
        registers.r15, registers.rip, registers.fs_base, registers.gs_base};
    std::copy(std::begin(values), std::end(values), thread.values.begin());
    return std::size(values);
  }

  static bool note_places(ThreadRegisters& thread, const Registers& registers) noexcept {
    thread.stack_pointer = registers.rsp;
    thread.thread_pointer = registers.fs_base;
    return true;
  }

  /// Makes the kernel restart a system call that would fail with EINTR only because of the stop
  /// (signal(7)), so that the program does not notice. If a signal handler runs first, the call
  /// fails nevertheless.
  static void begin_call_again(ThreadId task, Registers& registers, iovec& general) noexcept {
    constexpr long kBeginAgainWithoutHandler = 514;
    constexpr long kCalls[] = {SYS_epoll_wait,
                               SYS_epoll_pwait,
                               SYS_semop,
                               SYS_semtimedop,
                               SYS_io_getevents,
                               SYS_io_pgetevents,
                               SYS_read,
                               SYS_rt_sigtimedwait,
                               SYS_recvfrom,
                               SYS_recvmsg,
                               SYS_accept,
                               SYS_accept4,
                               441 /* SYS_epoll_pwait2 */};
    if (static_cast<long>(registers.rax) != -EINTR) return;
    const auto call = static_cast<long>(registers.orig_rax);
    if (std::find(std::begin(kCalls), std::end(kCalls), call) == std::end(kCalls)) return;
    registers.rax = static_cast<decltype(registers.rax)>(-kBeginAgainWithoutHandler);
    static_cast<void>(::ptrace(PTRACE_SETREGSET, task, NT_PRSTATUS, &general));
  }
#else
  /// Returns false, because the registers do not show whether the thread is in a system call.
  static bool is_in_call(const Registers&) noexcept { return false; }

  /// Copies the registers. The kernel has them in DWARF order.
  static std::size_t note_general(ThreadRegisters& thread, const Registers& registers) noexcept {
    std::memcpy(thread.values.data(), &registers, sizeof registers);
    return sizeof registers / sizeof(std::uintptr_t);
  }

  static bool note_places(ThreadRegisters& thread, const Registers& registers) noexcept {
    thread.stack_pointer = registers.sp;
    iovec place{.iov_base = &thread.thread_pointer, .iov_len = sizeof thread.thread_pointer};
    return ::ptrace(PTRACE_GETREGSET, thread.id, NT_ARM_TLS, &place) == 0;
  }

  /// Does nothing: the kernel selects the calls to restart before the stop.
  static void begin_call_again(ThreadId, Registers&, iovec&) noexcept {}
#endif

  const TaskList& tasks_;
  ThreadId left_out_;
  std::span<ThreadRegisters> threads_;
  std::size_t count_ = 0;
  std::size_t without_room_ = 0;
  std::int64_t give_up_ = 0;
};

}  // namespace alloctap::os

#ifndef ALLOCTAP_COMPILED
#include "alloctap/os/linux/impl/thread_stops.hpp"
#endif
