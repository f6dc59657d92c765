/// Stop-the-world for this process or, if the system can copy processes, a frozen copy of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/os/thread.hpp"

namespace alloctap::os {

/// Result of stopping the threads, and of copying the process if the system can.
struct FrozenState {
  /// Number of filled entries in `FreezeRequest::threads`.
  std::size_t threads = 0;
  /// Number of threads that were not stopped, equal to `FrozenProcess::unseen()`.
  std::size_t unseen = 0;
  /// Bytes missing from the copy: omitted by fork and not readable from the original process.
  std::uint64_t unread_bytes = 0;
};

/// Arguments of `FrozenProcess::start`. They must stay valid until that call returns.
struct FreezeRequest {
  /// Runs while memory does not change. If the system copies the process, the body runs as the only
  /// thread of the copy, and the original process continues. Otherwise the body runs in the process
  /// itself while all other threads are stopped. The body must not call malloc, take a lock that
  /// another thread may hold, or release a lock that the caller holds.
  void (*body)(void* argument, const FrozenState& state) noexcept = nullptr;
  void* argument = nullptr;
  /// Scratch memory of at least `kFreezeStack` bytes, aligned to 16. The body's stack is a copy of
  /// this memory, a copy of the calling thread's stack, or the calling thread's stack itself.
  std::span<std::byte> stack;
  /// Output array with one entry for each other thread. Threads that do not fit are not stopped.
  std::span<ThreadRegisters> threads;
};

inline constexpr std::size_t kFreezeStack = 256 * 1024;

/// A freeze, to be started at most once. Takes no lock and does not allocate, except inside system
/// calls. A copy does not run the program's fork handlers. The program's waits and SIGCHLD handlers
/// do not see the copy's exit. Not thread-safe.
class FrozenProcess {
 public:
  /// Stops all other threads and stores their registers in `request.threads`. Starts the body in a
  /// copy of the process, or runs the body in the process, and then resumes the threads. Returns 0,
  /// or the negated errno if the copy failed.
  [[nodiscard]] int start(const FreezeRequest& request) noexcept;

  /// Returns the number of threads that were not stopped: their registers are missing, and their
  /// memory may have changed during the freeze.
  [[nodiscard]] std::size_t unseen() const noexcept { return unseen_; }

  /// Blocks until the body has ended. The body's result must be in memory from `map_shared_pages`,
  /// because other writes of a copy are not visible here.
  void wait() noexcept;

 private:
  std::size_t unseen_ = 0;
  // Id of the copy. Unused on systems without copies.
  [[maybe_unused]] std::int32_t process_ = 0;
};

/// Returns true if this system runs the body in a copy of the process.
[[nodiscard]] constexpr bool can_copy_process() noexcept;

/// Returns false if a copy would disturb the program, because it would begin a PID namespace.
bool may_copy_process() noexcept;

/// Maps zeroed pages as `map_pages` does, but shared with copies of the process.
void* map_shared_pages(std::size_t bytes) noexcept;

/// Returns the number of threads of the process; 1 if unknown.
std::size_t count_threads() noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/frozen_process.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/frozen_process.hpp"
#else
#error "alloctap/os/frozen_process.hpp has no implementation for this system"
#endif
