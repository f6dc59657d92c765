/// A queue adapter that also logs each event, and its event log.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <new>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/clock.hpp"
#include "alloctap/queue/direct_queue.hpp"
#include "alloctap/queue/event_queue.hpp"
#include "alloctap/queue/event_stream.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/runtime/futex_lock.hpp"
#include "alloctap/runtime/per_thread.hpp"
#include "alloctap/runtime/thread_state.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// A log of all events of a tracker, with one stream per thread; a shared atomic counter numbers
/// the events. Events of one block are in order: an allocation is logged before the program gets
/// the block, and a free is logged before the allocator gets the memory.
///
/// The total size of the streams' chunks is bounded. The first event that does not fit ends the
/// log, so the log has all events before that event. Later events are only counted. Memory is never
/// freed. The child of a fork continues the log.
///
/// `log` runs inside malloc, in a recording scope. Acquires a lock only for a thread's first event
/// and for a new chunk. `cut` requires a stopped world. Constant-initialized, never destroyed.
class EventLog {
 public:
  /// `most_bytes` is the maximum total size of all chunks.
  constexpr explicit EventLog(std::size_t most_bytes) noexcept : most_bytes_(most_bytes) {}

  /// Changes the maximum size. Call before the first event.
  void set_most_bytes(std::size_t bytes) noexcept {
    most_bytes_.store(bytes, std::memory_order_relaxed);
  }
  [[nodiscard]] std::size_t most_bytes() const noexcept {
    return most_bytes_.load(std::memory_order_relaxed);
  }

  /// Ignores `record` unless `kind` makes a block live.
  void log(ThreadState* thread, LoggedKind kind, const void* block,
           const BlockRecord& record = {}) noexcept {
    const std::uint64_t sequence = next_.fetch_add(1, std::memory_order_relaxed);
    if (sequence >= end_.load(std::memory_order_relaxed)) [[unlikely]] {
      return;
    }
    Stream* const stream = thread == nullptr ? nullptr : stream_of(*thread);
    if (stream == nullptr || !has_room(stream->events)) [[unlikely]] {
      return end_at(sequence);
    }
    if (stream->generation != thread->generation) [[unlikely]] {
      begin_thread(*stream, *thread);
    }
    stream->events.append({.sequence = sequence,
                           .kind = kind,
                           .thread = stream->number,
                           .stack = record.stack,
                           .address = reinterpret_cast<std::uintptr_t>(block),
                           .size = record.size,
                           .time_ns = os::coarse_monotonic_ns() + stream->epoch_ns});
  }

  /// Stores references to the log's current contents in `events`. Returns false if out of memory.
  [[nodiscard]] bool cut(LoggedEvents& events) const noexcept {
    const std::uint64_t all = next_.load(std::memory_order_relaxed);
    events.count = std::min(all, end_.load(std::memory_order_relaxed));
    events.missed = all - events.count;
    events.parts.clear();
    for (const Stream* stream = first_.load(std::memory_order_acquire); stream != nullptr;
         stream = stream->next) {
      if (!events.parts.push_back(stream->events.all())) return false;
    }
    return true;
  }

 private:
  /// The events of the thread that owns a `ThreadState`. A new owner continues the stream.
  struct Stream {
    std::uint64_t log = 0;
    const ThreadState* state = nullptr;
    Stream* next = nullptr;
    std::uint32_t generation = 0;
    /// The value of `LoggedEvent::thread` for events of the current owner.
    std::uint32_t number = 0;
    /// The difference of Unix time and monotonic time.
    std::int64_t epoch_ns = 0;
    EventStream events = {};
  };

  /// Caches the stream that the thread used last, because most programs have one log.
  struct Mine {
    Stream* stream = nullptr;
  };

  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

  Stream* stream_of(ThreadState& thread) noexcept {
    Mine* const mine = PerThread<Mine>::of(thread);
    if (mine == nullptr) return nullptr;
    if (mine->stream == nullptr || mine->stream->log != id_.load(std::memory_order_relaxed))
        [[unlikely]] {
      mine->stream = find_or_make(thread);
    }
    return mine->stream;
  }

  ALLOCTAP_NOINLINE Stream* find_or_make(ThreadState& thread) noexcept {
    const std::lock_guard hold(lock_);
    if (id_.load(std::memory_order_relaxed) == 0) begin_log();
    for (Stream* known = first_.load(std::memory_order_relaxed); known != nullptr;
         known = known->next) {
      if (known->state == &thread) return known;
    }
    void* memory = Arena::allocate(sizeof(Stream));
    if (memory == nullptr) return nullptr;
    auto* made = ::new (memory) Stream{.log = id_.load(std::memory_order_relaxed),
                                       .state = &thread,
                                       .next = first_.load(std::memory_order_relaxed),
                                       .epoch_ns = epoch_ns_};
    first_.store(made, std::memory_order_release);
    return made;
  }

  /// Gives the log a number, because an earlier log may have had the same address.
  void begin_log() noexcept {
    epoch_ns_ = os::wall_clock_ns() - os::monotonic_ns();
    id_.store(next_id_.fetch_add(1, std::memory_order_relaxed), std::memory_order_relaxed);
  }

  ALLOCTAP_NOINLINE void begin_thread(Stream& stream, const ThreadState& thread) noexcept {
    stream.generation = thread.generation;
    stream.number = threads_.fetch_add(1, std::memory_order_relaxed) + 1;
  }

  [[nodiscard]] bool has_room(EventStream& events) noexcept {
    return events.has_room() || add_chunk(events);
  }

  ALLOCTAP_NOINLINE bool add_chunk(EventStream& events) noexcept {
    const std::size_t before = bytes_.fetch_add(EventChunk::kBytes, std::memory_order_relaxed);
    return before + EventChunk::kBytes <= most_bytes() && events.grow();
  }

  ALLOCTAP_NOINLINE void end_at(std::uint64_t sequence) noexcept {
    std::uint64_t end = end_.load(std::memory_order_relaxed);
    while (sequence < end &&
           !end_.compare_exchange_weak(end, sequence, std::memory_order_relaxed)) {
    }
  }

  /// Written at each event, so in its own cache line.
  alignas(64) std::atomic<std::uint64_t> next_{0};
  /// The number of the first event that is not in the log. Read at each event.
  alignas(64) std::atomic<std::uint64_t> end_{kNever};
  std::atomic<std::uint64_t> id_{0};
  std::atomic<Stream*> first_{nullptr};
  std::atomic<std::uint32_t> threads_{0};
  std::atomic<std::size_t> bytes_{0};
  std::atomic<std::size_t> most_bytes_;
  std::int64_t epoch_ns_ = 0;
  FutexLock lock_;
  static inline constinit std::atomic<std::uint64_t> next_id_{1};
};

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

    // Each function logs before `inner_` gets the event. As its last action `inner_` may leave the
    // recording scope; a snapshot taken then must find the event in the log and in the container.

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
