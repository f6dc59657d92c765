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

/// The calls of one thread since the start; ended threads are included. After many threads, a
/// tracker lets new ones reuse the counters of ended ones. Such a row is the sum over `threads`
/// successive threads, and has the id of the last.
///
/// Only trackers whose `Tags` distinguish threads know what a thread holds: a block's record has
/// only stack and size, and any thread may free it. `DirectQueue` counts deallocations on the
/// calling thread, a queue with a worker on the one that delivers them. With a sampling policy, all
/// numbers except `net_bytes` and `holding` still count every call.
struct ThreadSummary {
  /// The live part of what the thread allocated, whichever thread will free it.
  struct Holding {
    std::uint64_t live_allocations = 0;
    std::uint64_t live_bytes = 0;
  };

  os::ThreadId thread_id = 0;
  /// Whether the thread existed at the end of the snapshot.
  bool alive = false;
  /// Number of threads that the numbers cover; only the last is identified.
  std::uint32_t threads = 1;
  AllocationTotals total = {};
  /// Known blocks that it freed, of all allocating threads; with sampling, unknown ones too.
  std::uint64_t deallocations = 0;
  /// Bytes allocated minus bytes freed; negative if it frees what others allocate. The sum over all
  /// threads is the live bytes.
  std::int64_t net_bytes = 0;
  /// The owner number in stacks; `kNoThread` if unknown.
  ThreadNumber number = kNoThread;
  /// Empty if unknown. An estimate if live numbers are estimates. Blocks without a known stack
  /// count for no thread.
  std::optional<Holding> holding = {};
  std::array<char, 16> name_text{};
  std::size_t name_bytes = 0;

  /// Returns the name from the system; empty if the thread has ended.
  [[nodiscard]] std::string_view name() const noexcept { return {name_text.data(), name_bytes}; }
};

/// Finds which of `threads` exist, and their names. They must be in order of creation: if two have
/// equal ids, the earlier one has ended. Control plane.
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
