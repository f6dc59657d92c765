/// Threads: identifiers, names, registers, workers, confinement, and the process-wide barrier.
///
/// Every free function may run inside malloc and inside a signal handler. errno may change.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace alloctap::os {

using ThreadId = std::int32_t;
using ProcessId = std::int32_t;

ThreadId current_thread_id() noexcept;
ProcessId current_process_id() noexcept;

/// Returns an address that identifies the calling thread. In glibc and musl, it is in the mapping
/// of the thread's stack, above the outermost frame, except for the main thread. On Windows, it is
/// on the current stack, so each fiber has another one; there the constant
/// `kThreadPointerFollowsStack` is true.
std::uintptr_t thread_pointer() noexcept;

/// Returns an address at a fixed distance from each of the calling thread's `ThreadLocal` objects.
std::uintptr_t thread_storage() noexcept;

/// Returns true if the thread `id` of this process exists. Ids are reused: only false is permanent.
bool thread_is_alive(ThreadId id) noexcept;

/// Copies the name of the thread `id` of this process to `name`, cut to the size of `name`. Returns
/// the name's length; 0 if the thread does not exist or has no name.
std::size_t thread_name(ThreadId id, std::span<char> name) noexcept;

/// Registers the process for `process_wide_barrier`. Returns false if unsupported.
bool enable_process_wide_barrier() noexcept;

/// Executes a full memory barrier on every thread of the process before it returns. Precondition:
/// `enable_process_wide_barrier()` has returned true.
void process_wide_barrier() noexcept;

/// Registers of one stopped thread, used as roots of a leak scan.
struct ThreadRegisters {
  ThreadId id = 0;
  /// True if the thread was stopped. If false, only `id` is valid: a debugger is attached to the
  /// thread, the system forbids the stop, or the thread waits uninterruptibly in the kernel.
  bool seen = false;
  std::uintptr_t stack_pointer = 0;
  /// True if memory below the stack pointer (the ABI's red zone) may be in use. False if the thread
  /// has made a call at that stack pointer and the call has not returned.
  bool has_red_zone = true;
  /// The thread's `thread_pointer()`.
  std::uintptr_t thread_pointer = 0;
  /// The thread's `thread_storage()`.
  std::uintptr_t thread_storage = 0;
  /// Number of used `values`: all registers that may hold pointers, including vector registers.
  std::size_t count = 0;
  /// Number of leading `values` that are general registers in DWARF order, including the program
  /// counter; 0 if they are in another order.
  std::size_t general_count = 0;
  std::array<std::uintptr_t, 440> values{};
};

/// Time in nanoseconds after which a thread that does not stop is left running.
inline constexpr std::int64_t kFreezeTimeoutNs = 2'000'000'000;

/// A joinable background thread that blocks every signal, so that the program's handlers never run
/// on it. `start` calls malloc and may take the loader's locks, so it is control plane.
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

/// True if the tracker may make no system calls inside malloc except those that malloc itself
/// makes, because a seccomp(2) filter might kill the program. The tracker then lacks data that only
/// the kernel has, such as the bounds of a new stack. Set once, never cleared.
inline constinit std::atomic<bool> threads_are_confined{false};

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/thread.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/thread.hpp"
#else
#error "alloctap/os/thread.hpp has no implementation for this system"
#endif
