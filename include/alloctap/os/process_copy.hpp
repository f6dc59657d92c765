/// A copy of this process that stands still, to be read while the process itself goes on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/os/thread_registers.hpp"

namespace alloctap::os {

/// What a copy is made from. Everything outlives the call of `start`.
struct CopyRequest {
  /// Runs in the copy, on a copy of the memory, as its only thread; the copy ends when it returns.
  /// It may call neither the C library's allocator nor anything else that takes locks, which other
  /// threads may have held. The first `threads` of this request's are filled then, and `unseen` is
  /// what `ProcessCopy::unseen` says.
  void (*body)(void* argument, std::size_t threads, std::size_t unseen) noexcept = nullptr;
  void* argument = nullptr;
  /// Whatever runs beside the threads meanwhile runs here; at least `kCopyStack` bytes, aligned to
  /// 16. The body runs on the copy of it, or of the calling thread's stack.
  std::span<std::byte> stack;
  /// Room for the other threads of the process. Those that find no room run on.
  std::span<ThreadRegisters> threads;
};

inline constexpr std::size_t kCopyStack = 256 * 1024;

/// One copy. Not thread-safe; takes no lock and does not allocate, but for what the system does.
/// Neither handlers that the program registered for forks nor its waits and handlers for the ends
/// of processes hear of the copy.
class ProcessCopy {
 public:
  /// Stops all threads but the calling one, notes their registers in `request.threads`, copies the
  /// process and lets them go on. 0, or the negated errno where the system makes no copy.
  [[nodiscard]] int start(const CopyRequest& request) noexcept;

  /// How many other threads were not seen: their registers are not in the list, and their memory
  /// may have changed while it was copied.
  [[nodiscard]] std::size_t unseen() const noexcept { return unseen_; }

  /// Waits until the copy has ended. Whether its body came to its end the body itself has to tell,
  /// in memory from `map_shared_pages`.
  void wait() noexcept;

 private:
  std::size_t unseen_ = 0;
  // Where no copy can be made nobody reads it.
  [[maybe_unused]] std::int32_t process_ = 0;
};

/// As `map_pages`, but what a copy of the process writes there is seen here too.
void* map_shared_pages(std::size_t bytes) noexcept;

/// How many threads the process has; 1 where the system does not tell.
std::size_t count_threads() noexcept;

/// Whether copies can be made on this system at all.
[[nodiscard]] constexpr bool can_copy_process() noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/process_copy.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/process_copy.hpp"
#else
#error "alloctap/os/process_copy.hpp has no implementation for this system"
#endif
