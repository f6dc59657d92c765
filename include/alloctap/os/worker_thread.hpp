/// The tracker's own worker thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace alloctap::os {

/// A joinable thread with every signal blocked, so that the program's handlers never run on it.
/// Starting it allocates from the host and may take the loader's locks: control plane only.
/// Constant-initialized. Not thread-safe.
class WorkerThread {
 public:
  constexpr WorkerThread() noexcept = default;
  WorkerThread(const WorkerThread&) = delete;
  WorkerThread& operator=(const WorkerThread&) = delete;

  /// Runs `body(argument)` on a new thread. Returns 0 or the negated system error. Precondition: no
  /// thread runs.
  [[nodiscard]] int start(void (*body)(void*) noexcept, void* argument) noexcept;

  /// Blocks until `body` ends; returns at once if no thread runs.
  void join() noexcept;

  /// Forgets the thread, which does not exist in the child of a fork.
  void forget() noexcept { running_ = false; }

  [[nodiscard]] bool running() const noexcept { return running_; }

 private:
  void (*body_)(void*) noexcept = nullptr;
  void* argument_ = nullptr;
  std::uint64_t handle_ = 0;
  bool running_ = false;

  friend void* run_worker(void* thread) noexcept;
};

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/worker_thread.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/worker_thread.hpp"
#else
#error "alloctap/os/worker_thread.hpp has no implementation for this system"
#endif
