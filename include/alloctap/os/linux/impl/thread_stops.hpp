/// Definitions for os/linux/thread_stops.hpp.
#pragma once

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "alloctap/macros.hpp"
#include "alloctap/os/clock.hpp"
#include "alloctap/os/linux/task_list.hpp"
#include "alloctap/os/linux/thread_stops.hpp"
#include "alloctap/os/thread_registers.hpp"

namespace alloctap::os {

ALLOCTAP_INLINE void ThreadStops::stop_all() noexcept {
  give_up_ = monotonic_ns() + kFreezeTimeoutNs;
  for (bool more = true; more;) {
    const std::size_t before = count_;
    without_room_ = 0;
    tasks_.visit([this](ThreadId task) { seize(task); });
    for (std::size_t i = before; i < count_; ++i) await(threads_[i]);
    more = count_ > before;
  }
}

ALLOCTAP_INLINE void ThreadStops::release() noexcept {
  for (std::size_t i = 0; i < count_; ++i) {
    const ThreadRegisters& thread = threads_[i];
    if (thread.seen) ::ptrace(PTRACE_DETACH, thread.id, nullptr, thread.values.back());
  }
}

ALLOCTAP_INLINE std::size_t ThreadStops::unseen() const noexcept {
  const auto threads = threads_.first(count_);
  return without_room_ + static_cast<std::size_t>(std::count_if(
                             threads.begin(), threads.end(), [](const ThreadRegisters& thread) {
                               return !thread.seen && thread.id != 0;
                             }));
}

ALLOCTAP_INLINE void ThreadStops::seize(ThreadId task) noexcept {
  const auto known = threads_.first(count_);
  const auto same = [task](const ThreadRegisters& thread) { return thread.id == task; };
  if (task == left_out_ || std::any_of(known.begin(), known.end(), same)) return;
  if (count_ == threads_.size()) {
    ++without_room_;
    return;
  }
  const bool seized = ::ptrace(PTRACE_SEIZE, task, nullptr, nullptr) == 0 &&
                      ::ptrace(PTRACE_INTERRUPT, task, nullptr, nullptr) == 0;
  const char state = seized ? 'R' : tasks_.state(task);
  // Skips ended threads, which have no registers. An ended main thread stays listed.
  if (state == '\0' || state == 'Z' || state == 'X') return;
  ThreadRegisters& thread = threads_[count_++];
  thread.id = task;
  thread.seen = seized;
  thread.count = thread.general_count = 0;
  thread.has_red_zone = true;
}

ALLOCTAP_INLINE void ThreadStops::await(ThreadRegisters& thread) noexcept {
  if (!thread.seen) return;
  int status = 0;
  for (int round = 0;; ++round) {
    const long waited = ::syscall(SYS_wait4, thread.id, &status, __WALL | WNOHANG, nullptr);
    if (waited == thread.id) break;
    const bool gone = waited < 0 && errno != EINTR;
    if (gone || (round % 64 == 63 && will_not_stop(thread.id, round))) {
      thread.seen = false;
      if (gone) thread.id = 0;
      return;
    }
    pause(round);
  }
  if (!WIFSTOPPED(status)) {
    thread = {};
    return;
  }
  thread.seen = read(thread, status);
}

ALLOCTAP_INLINE void ThreadStops::pause(int round) noexcept {
  constexpr int kSpins = 64;
  const timespec nap{.tv_sec = 0, .tv_nsec = 20'000};
  if (round < kSpins) {
    ::syscall(SYS_sched_yield);
  } else {
    ::syscall(SYS_nanosleep, &nap, nullptr);
  }
}

ALLOCTAP_INLINE bool ThreadStops::read(ThreadRegisters& thread, int status) noexcept {
  Registers registers{};
  iovec general{.iov_base = &registers, .iov_len = sizeof registers};
  if (::ptrace(PTRACE_GETREGSET, thread.id, NT_PRSTATUS, &general) != 0) return false;
  thread.count = thread.general_count = note_general(thread, registers);
  if (!is_in_call(registers)) thread.count += read_vectors(thread);
  const bool on_way_to_signal = status >> 16 != PTRACE_EVENT_STOP;
  thread.values.back() = on_way_to_signal ? static_cast<std::uintptr_t>(WSTOPSIG(status)) : 0;
  if (!on_way_to_signal) begin_call_again(thread.id, registers, general);
  const bool noted = note_places(thread, registers);
  thread.thread_storage = thread.thread_pointer;
  return noted;
}

}  // namespace alloctap::os
