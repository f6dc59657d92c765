/// The contract of queues: how recorded events reach the container.
#pragma once

#include <concepts>
#include <cstddef>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// The receiving end of a queue; what the bookkeeper of a container looks like from here.
/// `count_pair` stands for an allocation and its free that met before either arrived.
struct QueueConsumerArchetype {
  void record_allocation(const RecordedAllocation&) noexcept {}
  void record_deallocation(void*) noexcept {}
  BlockRecord take(void*) noexcept { return {}; }
  void put_back(void*, const BlockRecord&) noexcept {}
  void count_pair(const BlockRecord&) noexcept {}
};

/// A policy `P` whose member template `P::template For<Consumer>` is the queue, constructible as a
/// constant expression from a reference to its consumer.
///
/// Events of one pointer, and of those in the same 4 KiB, arrive in the order in which they were
/// pushed, one at a time. `take` and `put_back`
/// bracket a reallocation and act on the container at once, after what the queue holds of that
/// pointer. The pushing functions run inside malloc on any thread; `start`, `stop` and `flush` in
/// the control plane; `after_fork` in a child, alone. `start` gets the bound on the queue's memory,
/// in bytes. After `flush` everything pushed before it has arrived.
///
/// Where a queue says `leaves_errno_alone`, what runs inside malloc changes the error number only
/// where the consumer does; else the recorder keeps it, at each event. One whose `Unchanging` is
/// its own type has no state, and is a constant: who pushes knows the consumer when it is compiled.
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
