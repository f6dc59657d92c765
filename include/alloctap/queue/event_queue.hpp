/// The contract of queues, which deliver recorded events to the container.
#pragma once

#include <concepts>
#include <cstddef>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/event/policy_features.hpp"
#include "alloctap/macros.hpp"
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

/// The properties and the optional member of a queue.
struct QueueFeatures {
  /// No event waits, so the container is always up to date.
  bool delivers_at_once = false;
  /// The functions that run inside malloc preserve errno if the consumer does. Without this
  /// feature, the recorder saves errno at each event.
  bool leaves_errno_alone = false;
  /// The queue has `log()`, which returns the `EventLog` of all events.
  bool log = false;
};

/// A policy `P` whose queue is the member template `P::template For<Consumer>`. The queue has a
/// constexpr constructor from a reference to its consumer.
///
/// The queue delivers the events of each 4 KiB region one at a time, in the order of pushing.
/// `take` and `put_back` bracket a reallocation: they first deliver the queued events of the
/// pointer, then act on the container directly. Pushing functions run inside malloc on any thread;
/// `start`, `stop` and `flush` on the control plane; `after_fork` in the single-threaded child.
/// `start` gets the maximum size of the queue in bytes. `flush` delivers every event pushed before
/// the call. The queue, not the policy, declares `features`.
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

/// When instantiated, checks that the declared features of `Q` match its members.
template <class Q>
struct CheckedQueue {
  static constexpr auto kHas = features_of<QueueFeatures, Q>();
  ALLOCTAP_CHECK_FEATURE("Queue", kHas, log, requires(Q& queue) { queue.log(); });
  static constexpr bool ok = true;
};

}  // namespace alloctap
