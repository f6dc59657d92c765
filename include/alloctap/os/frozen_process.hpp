/// The state of this process at one moment, to be read while it does not change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/os/thread_registers.hpp"

namespace alloctap::os {

/// How a process was frozen.
struct FrozenState {
  /// How many of `FreezeRequest::threads` are filled.
  std::size_t threads = 0;
  /// What `FrozenProcess::unseen` says.
  std::size_t unseen = 0;
  /// Bytes of memory that the copy lacks, because they are left out of copies and could not be read
  /// from the process itself.
  std::uint64_t unread_bytes = 0;
};

/// What a process is frozen for. Everything outlives the call of `start`.
struct FreezeRequest {
  /// Runs while nothing changes: where the system makes copies of processes in one, as its only
  /// thread, while the process itself goes on; elsewhere in the process, whose other threads stand
  /// still meanwhile. It may call neither the C library's allocator nor anything else that takes
  /// locks, which other threads may hold, and leaves what the caller has locked as it finds it.
  void (*body)(void* argument, const FrozenState& state) noexcept = nullptr;
  void* argument = nullptr;
  /// Room for whatever else that takes; at least `kFreezeStack` bytes, aligned to 16. The body runs
  /// on the calling thread's stack, or on a copy of either.
  std::span<std::byte> stack;
  /// Room for the other threads of the process. Those that find no room run on.
  std::span<ThreadRegisters> threads;
};

inline constexpr std::size_t kFreezeStack = 256 * 1024;

/// One such moment. Not thread-safe; takes no lock and does not allocate, but for what the system
/// does. Where copies are made, neither handlers that the program registered for forks nor its
/// waits and handlers for the ends of processes hear of them.
class FrozenProcess {
 public:
  /// Stops all threads but the calling one, notes their registers in `request.threads`, has the
  /// body look at what there is, or at a copy of it, and lets them go on. 0, or the negated errno
  /// where the system makes no copy.
  [[nodiscard]] int start(const FreezeRequest& request) noexcept;

  /// How many other threads were not seen: their registers are not in the list, and their memory
  /// may have changed meanwhile.
  [[nodiscard]] std::size_t unseen() const noexcept { return unseen_; }

  /// Waits until the body has ended. Whether it came to its end it has to tell itself, in memory
  /// from `map_shared_pages`.
  void wait() noexcept;

 private:
  std::size_t unseen_ = 0;
  // Not read if no copies are made.
  [[maybe_unused]] std::int32_t process_ = 0;
};

/// Whether callers are handed a copy of the process, and not the process itself.
[[nodiscard]] constexpr bool can_copy_process() noexcept;

/// Whether this process can be frozen without harm to it.
bool may_copy_process() noexcept;

/// As `map_pages`, but what a copy of the process writes there is seen here too.
void* map_shared_pages(std::size_t bytes) noexcept;

/// How many threads the process has; 1 where the system does not tell.
std::size_t count_threads() noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/frozen_process.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/frozen_process.hpp"
#else
#error "alloctap/os/frozen_process.hpp has no implementation for this system"
#endif
