/// What each thread has allocated.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "alloctap/meta/stack_totals.hpp"
#include "alloctap/os/thread.hpp"

namespace alloctap {

/// The calls of one thread since the start, ended threads included. A tracker that has met many
/// threads lets new ones go on with the counters of ended ones: such a row is the sum over
/// `threads` of them, one after the other, and has the id of the last.
///
/// What a thread holds is not known: a block's record is its stack and its size, and any thread may
/// give it back. `DirectQueue` counts deallocations on the thread that makes them, a queue with a
/// worker on the one that delivers them. While a policy samples, all numbers but `net_bytes` still
/// count every call.
struct ThreadSummary {
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
