/// A queue that stores nothing: the calling thread applies each event to the container.
#pragma once

#include "alloctap/macros.hpp"
#include "alloctap/queue/event_queue.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// Applies each event at once. Runs inside malloc. Choose it if a container update is cheap
/// (`ShadowIndex`), if checks need the record during free, or if the peak must be accurate: exact
/// with one thread, within 1 % with several (`LiveBytes`).
struct DirectQueue {
  template <class Consumer>
  class For {
   public:
    static constexpr QueueFeatures features{.delivers_at_once = true, .leaves_errno_alone = true};

    constexpr explicit For(Consumer& consumer) noexcept : consumer_(consumer) {}

    ALLOCTAP_ALWAYS_INLINE void push_allocation(
        const RecordedAllocation& allocation) const noexcept {
      consumer_.record_allocation(allocation);
    }
    ALLOCTAP_ALWAYS_INLINE void push_deallocation(void* pointer) const noexcept {
      consumer_.record_deallocation(pointer);
    }
    BlockRecord take(void* pointer) const noexcept { return consumer_.take(pointer); }
    void put_back(void* pointer, const BlockRecord& record) const noexcept {
      consumer_.put_back(pointer, record);
    }
    Status start(std::size_t) const { return Status(); }
    void stop() const noexcept {}
    void flush() const noexcept {}
    void after_fork() const noexcept {}

   private:
    Consumer& consumer_;
  };
};

static_assert(EventQueuePolicy<DirectQueue>);

}  // namespace alloctap
