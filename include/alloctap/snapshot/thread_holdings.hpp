/// Computes what each thread holds.
#pragma once

#include <algorithm>
#include <cstddef>

#include "alloctap/event/stack_owner.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/snapshot/thread_summary.hpp"
#include "alloctap/tag/tag_policy.hpp"

namespace alloctap {

/// Sums the live blocks of each thread of `snapshot`, whose stacks must be complete, if `tags`
/// include threads. Returns false if out of memory. Control plane.
[[nodiscard]] inline bool add_holdings(Snapshot& snapshot, const TagsDescription& tags) noexcept {
  if (!tags.threads) return true;
  ThreadNumber last = kNoThread;
  for (const ThreadSummary& thread : snapshot.threads) last = std::max(last, thread.number);
  ArenaArray<ThreadSummary::Holding> holdings;
  if (!holdings.resize(std::size_t{last} + 1)) return false;
  for (const StackSummary& stack : snapshot.stacks) {
    const ThreadNumber thread = snapshot.table->owner(stack.stack).thread;
    ThreadSummary::Holding& holding = holdings[thread <= last ? thread : kNoThread];
    holding.live_allocations += stack.live_allocations;
    holding.live_bytes += stack.live_bytes;
  }
  for (ThreadSummary& thread : snapshot.threads) {
    if (thread.number != kNoThread) thread.holding = holdings[thread.number];
  }
  return true;
}

}  // namespace alloctap
