/// Stop-the-world by suspending the threads during the whole scan. Does not copy the process,
/// because Wine does not support that (PssCaptureSnapshot).
#pragma once

#include "alloctap/os/errno_guard.hpp"
#include "alloctap/os/frozen_process.hpp"
#include "alloctap/os/virtual_memory.hpp"
#include "alloctap/os/windows/thread_stops.hpp"

namespace alloctap::os {

[[nodiscard]] constexpr bool can_copy_process() noexcept { return false; }

inline void* map_shared_pages(std::size_t bytes) noexcept { return map_pages(bytes); }

inline bool may_copy_process() noexcept { return true; }

inline std::size_t count_threads() noexcept {
  std::size_t count = 0;
  visit_threads([&count](Handle&) { ++count; });
  return std::max<std::size_t>(count, 1);
}

inline int FrozenProcess::start(const FreezeRequest& request) noexcept {
  const ErrnoGuard preserve_error;
  const std::size_t room = request.stack.size() / sizeof(HANDLE);
  ThreadStops stops({reinterpret_cast<HANDLE*>(request.stack.data()), room}, request.threads);
  {
    // Holds the lock for freeing pages, so that no stopped thread holds it.
    const PageRelease hold;
    stops.stop_all();
  }
  unseen_ = stops.unseen();
  request.body(request.argument, {.threads = stops.count(), .unseen = unseen_});
  stops.release();
  return 0;
}

inline void FrozenProcess::wait() noexcept {}

}  // namespace alloctap::os
