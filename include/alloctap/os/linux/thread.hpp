/// Threads by system calls: identifiers, names, workers that block all signals, membarrier(2).
#pragma once

#include <linux/membarrier.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>

#include "alloctap/macros.hpp"
#include "alloctap/os/file.hpp"
#include "alloctap/os/thread.hpp"

namespace alloctap::os {

inline ThreadId current_thread_id() noexcept {
  return static_cast<ThreadId>(::syscall(SYS_gettid));
}

inline ProcessId current_process_id() noexcept {
  return static_cast<ProcessId>(::syscall(SYS_getpid));
}

inline constexpr bool kThreadPointerFollowsStack = false;

inline std::uintptr_t thread_pointer() noexcept {
  return reinterpret_cast<std::uintptr_t>(ALLOCTAP_THREAD_POINTER());
}

inline std::uintptr_t thread_storage() noexcept { return thread_pointer(); }

inline bool thread_is_alive(ThreadId id) noexcept {
  return ::syscall(SYS_tgkill, current_process_id(), id, 0) == 0 || errno != ESRCH;
}

inline std::size_t thread_name(ThreadId id, std::span<char> name) noexcept {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/comm", static_cast<int>(id));
  int error = 0;
  const File file = open_for_reading(path, error);
  const std::ptrdiff_t count = error != 0 ? 0 : read_some(file.descriptor(), name);
  if (count <= 0) return 0;
  const auto length = static_cast<std::size_t>(count);
  return name[length - 1] == '\n' ? length - 1 : length;
}

inline bool enable_process_wide_barrier() noexcept {
  return ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

inline void process_wide_barrier() noexcept {
  ::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

inline void* run_worker(void* thread) noexcept {
  const auto& worker = *static_cast<const WorkerThread*>(thread);
  worker.body_(worker.argument_);
  return nullptr;
}

inline int WorkerThread::start(void (*body)(void*) noexcept, void* argument) noexcept {
  static_assert(sizeof(pthread_t) <= sizeof(handle_));
  body_ = body;
  argument_ = argument;
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t handle{};
  const int error = ::pthread_create(&handle, nullptr, &run_worker, this);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  handle_ = handle;
  running_ = error == 0;
  return -error;
}

inline void WorkerThread::join() noexcept {
  if (!running_) return;
  ::pthread_join(static_cast<pthread_t>(handle_), nullptr);
  running_ = false;
}

}  // namespace alloctap::os
