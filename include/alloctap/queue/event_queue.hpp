/// The contract of queues: how recorded events reach the container.
#pragma once

#include <concepts>
#include <cstddef>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// The consumer of a queue, as a minimal model of `BlockTracker`. `count_pair` counts an allocation
/// and its free that cancelled out in the queue.
struct QueueConsumerArchetype {
  void record_allocation(const RecordedAllocation&) noexcept {}
  void record_deallocation(void*) noexcept {}
  BlockRecord take(void*) noexcept { return {}; }
  void put_back(void*, const BlockRecord&) noexcept {}
  void count_pair(const BlockRecord&) noexcept {}
};

/// A policy `P` whose member template `P::template For<Consumer>` is the queue. It has a constexpr
/// constructor from a reference to its consumer.
///
/// Events of one 4 KiB region arrive one at a time and in the order of pushing. `take` and
/// `put_back` bracket a reallocation; they act on the container directly, after the queued events
/// of the pointer. The pushing functions run inside malloc on any thread; `start`, `stop` and
/// `flush` on the control plane; `after_fork` in the single-threaded child. `start` gets the bound
/// on the queue's memory in bytes. `flush` delivers everything pushed before it.
///
/// If `leaves_errno_alone` is true, functions inside malloc change errno only if the consumer does.
/// Otherwise the recorder saves it at each event. A queue whose `Unchanging` is its own type has no
/// state and is a constant, so that its consumer is known at compile time.
template <class P>
concept EventQueuePolicy =
    requires(typename P::template For<QueueConsumerArchetype>& queue, void* pointer,
             const RecordedAllocation& allocation, const BlockRecord& record, std::size_t bytes) {
      { queue.push_allocation(allocation) } noexcept -> std::same_as<void>;
      { queue.push_deallocation(pointer) } noexcept -> std::same_as<void>;
      { queue.take(pointer) } noexcept -> std::same_as<BlockRecord>;
      { queue.put_back(pointer, record) } noexcept -> std::same_as<void>;
      { queue.start(bytes) } -> std::same_as<Status>;
      { queue.stop() } noexcept -> std::same_as<void>;
      { queue.flush() } noexcept -> std::same_as<void>;
      { queue.after_fork() } noexcept -> std::same_as<void>;
    };

}  // namespace alloctap
