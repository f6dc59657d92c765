/// What each thread has allocated.
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

/// The calls of one thread since the start, ended threads included. A tracker that has met many
/// threads lets new ones go on with the counters of ended ones: such a row is the sum over
/// `threads` of them, one after the other, and has the id of the last.
///
/// What a thread holds is known to trackers alone whose `Tags` tell threads apart: a block's record
/// is its stack and its size, and any thread may give it back. `DirectQueue` counts deallocations
/// on the thread that makes them, a queue with a worker on the one that delivers them. While a
/// policy samples, all numbers but `net_bytes` and `holding` still count every call.
struct ThreadSummary {
  /// What is live of what the thread has allocated, whoever will give it back.
  struct Holding {
    std::uint64_t live_allocations = 0;
    std::uint64_t live_bytes = 0;
  };

  os::ThreadId thread_id = 0;
  /// Whether the thread existed when the snapshot was complete.
  bool alive = false;
  /// How many threads the numbers are of; of all but the last, nothing else is known.
  std::uint32_t threads = 1;
  AllocationTotals total = {};
  /// Known blocks that it gave back, whoever had allocated them; while a policy samples, all.
  std::uint64_t deallocations = 0;
  /// The bytes that it allocated minus those that it gave back: negative for a thread that frees
  /// what others allocate. The sum over all threads is what is live.
  std::int64_t net_bytes = 0;
  /// An owner of stacks; `kNoThread` where it cannot be told.
  ThreadNumber number = kNoThread;
  /// Nothing where the tracker does not know it. It is an estimate where live numbers are; blocks
  /// whose stack is not known or was not taken are nobody's.
  std::optional<Holding> holding = {};
  std::array<char, 16> name_text{};
  std::size_t name_bytes = 0;

  /// As the system tells it; empty of one that has ended.
  [[nodiscard]] std::string_view name() const noexcept { return {name_text.data(), name_bytes}; }
};

/// Looks which of `threads` exist, and what they are called. `threads` are in the order in which
/// they came: where two have one id, the earlier has ended. Control plane.
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
