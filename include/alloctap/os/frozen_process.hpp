/// Stop-the-world for this process, on a copy of it if the system can make one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/os/thread_registers.hpp"

namespace alloctap::os {

/// State of a freeze.
struct FrozenState {
  /// Number of filled entries in `FreezeRequest::threads`.
  std::size_t threads = 0;
  /// Value of `FrozenProcess::unseen()`.
  std::size_t unseen = 0;
  /// Bytes missing from the copy: excluded from forks and not readable from the original process.
  std::uint64_t unread_bytes = 0;
};

/// Arguments of `FrozenProcess::start`, which outlive that call.
struct FreezeRequest {
  /// Runs while memory does not change. If the system copies the process, it is the only thread of
  /// the copy, and the original runs on. Otherwise it runs in the process itself, with all other
  /// threads stopped. It must not call the C library's allocator or take any lock that another
  /// thread may hold. It must leave the caller's locks as they are.
  void (*body)(void* argument, const FrozenState& state) noexcept = nullptr;
  void* argument = nullptr;
  /// Scratch memory of at least `kFreezeStack` bytes, aligned to 16. The body runs on the calling
  /// thread's stack, or in the copy, on a copy of that stack or of this memory.
  std::span<std::byte> stack;
  /// Output array with one entry for each other thread. Threads beyond its size are not stopped.
  std::span<ThreadRegisters> threads;
};

inline constexpr std::size_t kFreezeStack = 256 * 1024;

/// One freeze of the process. Takes no lock and does not allocate, apart from what the system does.
/// The program's fork handlers do not run for a copy, and its waits and SIGCHLD handlers do not see
/// one. Not thread-safe.
class FrozenProcess {
 public:
  /// Stops all other threads, stores their registers in `request.threads`, starts the body in a
  /// copy of the process or else runs it in the process, and resumes the threads. Returns 0, or the
  /// negated errno if no copy could be made.
  [[nodiscard]] int start(const FreezeRequest& request) noexcept;

  /// Returns the number of threads that were not stopped: their registers are missing, and their
  /// memory may have changed during the freeze.
  [[nodiscard]] std::size_t unseen() const noexcept { return unseen_; }

  /// Blocks until the body has ended. To report success the body must write to memory from
  /// `map_shared_pages`.
  void wait() noexcept;

 private:
  std::size_t unseen_ = 0;
  // Not read if no copies are made.
  [[maybe_unused]] std::int32_t process_ = 0;
};

/// Returns whether bodies run on a copy of the process.
[[nodiscard]] constexpr bool can_copy_process() noexcept;

/// Returns whether freezing this process is safe.
bool may_copy_process() noexcept;

/// Maps pages as `map_pages` does, but shares them with copies of the process.
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
