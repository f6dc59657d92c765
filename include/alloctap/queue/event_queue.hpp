/// The contract of queues, which deliver recorded events to the container.
#pragma once

#include <concepts>
#include <cstddef>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// A minimal model of a queue's consumer, `BlockTracker`. `count_pair` counts an allocation and its
/// free that cancelled out in the queue.
struct QueueConsumerArchetype {
  void record_allocation(const RecordedAllocation&) noexcept {}
  void record_deallocation(void*) noexcept {}
  BlockRecord take(void*) noexcept { return {}; }
  void put_back(void*, const BlockRecord&) noexcept {}
  void count_pair(const BlockRecord&) noexcept {}
};

/// A policy `P` whose queue is the member template `P::template For<Consumer>`. The queue has a
/// constexpr constructor from a reference to its consumer.
///
/// The queue delivers the events of each 4 KiB region one at a time, in the order of pushing.
/// `take` and `put_back` bracket a reallocation: they first deliver the queued events of the
/// pointer, then act on the container directly. Pushing functions run inside malloc on any thread;
/// `start`, `stop` and `flush` on the control plane; `after_fork` in the single-threaded child.
/// `start` gets the maximum size of the queue in bytes. `flush` delivers every event pushed before
/// the call.
///
/// If `leaves_errno_alone` is true, functions inside malloc change errno only if the consumer does.
/// Otherwise the recorder saves errno at each event. A queue whose member `Unchanging` is the
/// queue's own type has no state and is a constant, so its consumer is known at compile time.
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
