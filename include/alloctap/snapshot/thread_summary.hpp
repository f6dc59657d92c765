/// Allocations by thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "alloctap/event/stack_owner.hpp"
#include "alloctap/os/thread.hpp"
#include "alloctap/record/allocation_totals.hpp"

namespace alloctap {

/// The calls of one thread since the start. Ended threads are included. After many threads, a
/// tracker lets new threads reuse the counters of ended ones. Such a summary covers `threads`
/// successive threads and has the id of the last thread.
///
/// A thread's live blocks are known only if the tracker's `Tags` distinguish threads. Otherwise a
/// block's record has no thread, and any thread may free the block. `DirectQueue` counts
/// deallocations on the calling thread, a queue with a worker on the thread that applies them. With
/// a sampling policy, all numbers except `net_bytes` and `holding` still count every call.
struct ThreadSummary {
  /// The live blocks that the thread allocated.
  struct Holding {
    std::uint64_t live_allocations = 0;
    std::uint64_t live_bytes = 0;
  };

  os::ThreadId thread_id = 0;
  /// Whether the thread still existed when the snapshot ended.
  bool alive = false;
  /// Number of successive threads in this summary. Only the last thread is identified.
  std::uint32_t threads = 1;
  AllocationTotals total = {};
  /// Known blocks of any thread that this thread freed. With sampling, also unknown blocks.
  std::uint64_t deallocations = 0;
  /// Bytes allocated minus bytes freed by the thread. Negative if the thread frees blocks of other
  /// threads. The sum over all threads equals the live bytes.
  std::int64_t net_bytes = 0;
  /// `ThreadNumber` in the owner of the thread's stacks; `kNoThread` if unknown.
  ThreadNumber number = kNoThread;
  /// The thread's live blocks; nullopt if unknown. An estimate if live numbers are estimates.
  /// Blocks without a known stack count for no thread.
  std::optional<Holding> holding = {};
  std::array<char, 16> name_text{};
  std::size_t name_bytes = 0;

  /// Returns the system's name of the thread. Empty if the thread has ended.
  [[nodiscard]] std::string_view name() const noexcept { return {name_text.data(), name_bytes}; }
};

/// Sets the name of each thread, and whether the thread still exists. Precondition: `threads` are
/// in order of creation. If two ids are equal, the earlier thread has ended. Control plane.
inline void name_threads(std::span<ThreadSummary> threads) noexcept {
  for (std::size_t i = 0; i < threads.size(); ++i) {
    ThreadSummary& thread = threads[i];
    thread.alive = os::thread_is_alive(thread.thread_id);
    for (const ThreadSummary& later : threads.subspan(i + 1)) {
      if (later.thread_id == thread.thread_id) thread.alive = false;
    }
    if (thread.alive) thread.name_bytes = os::thread_name(thread.thread_id, thread.name_text);
  }
}

}  // namespace alloctap
