/// A thread of the tracker, used as a background worker.
#pragma once

#include <atomic>
#include <cstdint>

namespace alloctap::os {

/// A joinable thread that blocks every signal, so that the program's handlers never run on it.
/// Starting it calls malloc and may take the loader's locks: control plane only.
/// Constant-initialized. Not thread-safe.
class WorkerThread {
 public:
  constexpr WorkerThread() noexcept = default;
  WorkerThread(const WorkerThread&) = delete;
  WorkerThread& operator=(const WorkerThread&) = delete;

  /// Runs `body(argument)` on a new thread. Returns 0 or the negated system error. Precondition:
  /// this object's previous thread was joined.
  [[nodiscard]] int start(void (*body)(void*) noexcept, void* argument) noexcept;

  /// Blocks until `body` ends; returns at once if no thread runs.
  void join() noexcept;

  /// Marks the thread as not running. Called in a forked child, where the thread does not exist.
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
