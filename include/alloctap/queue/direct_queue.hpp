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
    /// The container is always up to date, because no event waits.
    static constexpr bool kDeliversAtOnce = true;
    /// Whether the functions change errno only if the container changes errno.
    static constexpr bool leaves_errno_alone = true;
    using Unchanging = For;

    constexpr explicit For(Consumer& consumer) noexcept : consumer_(consumer) {}

    ALLOCTAP_ALWAYS_INLINE void push_allocation(
        const RecordedAllocation& allocation) const noexcept {
      consumer_.record_allocation(allocation);
    }
    ALLOCTAP_ALWAYS_INLINE void push_deallocation(void* pointer) const noexcept {
      consumer_.record_deallocation(pointer);
    }
    /// Like `push_deallocation(pointer)`, but counts in `totals`, the calling thread's stats.
    template <class Totals>
    ALLOCTAP_ALWAYS_INLINE void push_deallocation(void* pointer, Totals& totals) const noexcept
      requires requires(Consumer& consumer) { consumer.record_deallocation(pointer, totals); }
    {
      consumer_.record_deallocation(pointer, totals);
    }
    /// Like `push_deallocation`, but returns false without effect if `pointer` is unknown.
    template <class Totals>
    ALLOCTAP_ALWAYS_INLINE bool push_known_deallocation(void* pointer,
                                                        Totals& totals) const noexcept
      requires requires(Consumer& consumer) { consumer.record_known_deallocation(pointer, totals); }
    {
      return consumer_.record_known_deallocation(pointer, totals);
    }
    /// Starts the index lookup for an allocation at `pointer`; pass the result to `push_expected`.
    ALLOCTAP_ALWAYS_INLINE auto expect_allocation(const void* pointer) const noexcept
      requires requires(Consumer& consumer) { consumer.expect(pointer); }
    {
      return consumer_.expect(pointer);
    }
    template <class Expected, class Totals>
    ALLOCTAP_ALWAYS_INLINE void push_expected(const RecordedAllocation& allocation,
                                              Expected expected, Totals& totals) const noexcept
      requires requires(Consumer& consumer) {
        consumer.record_expected(allocation, expected, totals);
      }
    {
      consumer_.record_expected(allocation, expected, totals);
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
