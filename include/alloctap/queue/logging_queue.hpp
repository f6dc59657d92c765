/// A queue adapter that also logs each event.
#pragma once

#include <cstddef>

#include "alloctap/macros.hpp"
#include "alloctap/queue/direct_queue.hpp"
#include "alloctap/queue/event_log.hpp"
#include "alloctap/queue/event_queue.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// Passes events to the queue `Inner` and logs them in an `EventLog` of up to `kMaxBytes` (or
/// `log().set_most_bytes`). Choose it if the order of events matters, not only the totals: for
/// `RecordDump` and its replay, or a full timeline in `HeaptrackDump`. When the log is full, totals
/// stay exact, because `Inner` gets all events.
///
/// Runs inside malloc. An event costs an atomic addition, a read of the coarse clock, and 4 to 8
/// bytes of thread-local memory. Samples bypass queues, so a sampling policy leaves the log empty.
template <class Inner = DirectQueue, std::size_t kMaxBytes = 64 * 1024 * 1024>
struct LoggingQueue {
  template <class Consumer>
  class For {
    using Delivery = typename Inner::template For<Consumer>;

   public:
    static constexpr QueueFeatures features{
        .delivers_at_once = features_of<QueueFeatures, Delivery>().delivers_at_once, .log = true};

    constexpr explicit For(Consumer& consumer) noexcept : inner_(consumer) {}

    [[nodiscard]] EventLog& log() noexcept { return log_; }

    // Logs before `inner_` gets the event, because `inner_` may leave the recording scope when it
    // returns. A snapshot taken then must find the event both in the log and in the container.

    void push_allocation(const RecordedAllocation& allocation) noexcept {
      log(LoggedKind::kAllocation, allocation.pointer, allocation.record);
      inner_.push_allocation(allocation);
    }
    void push_deallocation(void* pointer) noexcept {
      log(LoggedKind::kDeallocation, pointer);
      inner_.push_deallocation(pointer);
    }
    BlockRecord take(void* pointer) noexcept {
      log(LoggedKind::kDetach, pointer);
      return inner_.take(pointer);
    }
    void put_back(void* pointer, const BlockRecord& record) noexcept {
      log(LoggedKind::kPutBack, pointer, record);
      inner_.put_back(pointer, record);
    }

    Status start(std::size_t max_bytes) { return inner_.start(max_bytes); }
    void stop() noexcept { inner_.stop(); }
    void flush() noexcept { inner_.flush(); }
    void after_fork() noexcept { inner_.after_fork(); }

   private:
    ALLOCTAP_ALWAYS_INLINE void log(LoggedKind kind, const void* pointer,
                                    const BlockRecord& record = {}) noexcept {
      log_.log(ThreadStates::mine(), kind, pointer, record);
    }

    Delivery inner_;
    EventLog log_{kMaxBytes};
  };
};

static_assert(EventQueuePolicy<LoggingQueue<>>);

}  // namespace alloctap
