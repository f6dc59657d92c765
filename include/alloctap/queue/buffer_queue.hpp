/// A queue with sharded buffers, which a worker thread drains into the container.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>

#include "alloctap/os/file.hpp"
#include "alloctap/os/futex.hpp"
#include "alloctap/os/thread.hpp"
#include "alloctap/os/virtual_memory.hpp"
#include "alloctap/queue/event_queue.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/runtime/futex_lock.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/runtime/thread_state.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// The event buffer of one shard: an arena block with two arrays, 8-byte messages and the payloads
/// of allocations. A message is {type : 8, pointer or payload index : 56}. Runs inside malloc. Not
/// thread-safe.
class QueueBuffer {
 public:
  /// The maximum size of a message with its payload.
  static constexpr std::size_t kBytesPerEvent = sizeof(std::uint64_t) + sizeof(RecordedAllocation);

  constexpr QueueBuffer() noexcept = default;

  /// Allocates room for `events` events. Returns false if out of memory.
  [[nodiscard]] bool reserve(std::size_t events) noexcept {
    if (payloads_ != nullptr) return true;
    payloads_ = static_cast<RecordedAllocation*>(Arena::allocate(events * kBytesPerEvent));
    if (payloads_ == nullptr) return false;
    messages_ = reinterpret_cast<std::uint64_t*>(payloads_ + events);
    capacity_ = events;
    return true;
  }

  void release() noexcept {
    if (payloads_ != nullptr) Arena::deallocate(payloads_, capacity_ * kBytesPerEvent);
    *this = QueueBuffer{};
  }

  [[nodiscard]] bool full() const noexcept { return size_ == capacity_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

  /// Precondition of both `append` functions: the buffer is not full.
  void append(const RecordedAllocation& allocation) noexcept {
    payloads_[payload_count_] = allocation;
    messages_[size_++] = message(kAllocation, payload_count_++);
  }
  void append_deallocation(void* pointer) noexcept {
    messages_[size_++] = message(kDeallocation, reinterpret_cast<std::uintptr_t>(pointer));
  }

  /// Returns the newest event if it is the allocation of `pointer`; otherwise nullptr.
  [[nodiscard]] const RecordedAllocation* newest_allocation_of(const void* pointer) const noexcept {
    if (size_ == 0 || type_of(messages_[size_ - 1]) != kAllocation) return nullptr;
    const RecordedAllocation& newest = payloads_[payload_count_ - 1];
    return newest.pointer == pointer ? &newest : nullptr;
  }

  /// Precondition: the newest message is an allocation.
  void remove_newest_allocation() noexcept {
    --size_;
    --payload_count_;
  }

  /// Passes every event to `consumer` in order, then clears the buffer.
  template <class Consumer>
  void replay(Consumer& consumer) noexcept {
    for (std::size_t i = 0; i < size_; ++i) replay_one(consumer, messages_[i]);
    size_ = 0;
    payload_count_ = 0;
  }

 private:
  enum Type : std::uint64_t { kAllocation, kDeallocation };

  static constexpr int kTypeShift = 56;

  static std::uint64_t message(Type type, std::uint64_t value) noexcept {
    return std::uint64_t{type} << kTypeShift | value;
  }
  static Type type_of(std::uint64_t message) noexcept {
    return static_cast<Type>(message >> kTypeShift);
  }

  template <class Consumer>
  void replay_one(Consumer& consumer, std::uint64_t message) noexcept {
    const std::uint64_t value = message & ((std::uint64_t{1} << kTypeShift) - 1);
    if (type_of(message) == kAllocation) return consumer.record_allocation(payloads_[value]);
    consumer.record_deallocation(reinterpret_cast<void*>(value));
  }

  RecordedAllocation* payloads_ = nullptr;
  std::uint64_t* messages_ = nullptr;
  std::size_t size_ = 0;
  std::size_t payload_count_ = 0;
  std::size_t capacity_ = 0;
};

/// A queue that moves container updates to a worker thread. Choose it if updates are expensive
/// (`FlatHashIndex` with many threads). Until a flush, live totals are up to `kSweepInterval` ns
/// old; the peak reflects the order in which shards were drained. Pushing runs inside malloc.
///
/// All pointers of a 4 KiB region share a shard. A free is pushed before the memory can be reused,
/// so the events of a region stay in order. The worker swaps a full buffer for a spare and replays
/// it without the shard's lock. Memory is bounded. No event is lost: a thread that finds its shard
/// full drains the shard itself.
struct BufferQueue {
  static constexpr std::size_t kShards = 256;
  static constexpr std::int64_t kSweepInterval = 50'000'000;

  template <class Consumer>
  class For {
   public:
    constexpr explicit For(Consumer& consumer) noexcept : consumer_(consumer) {}

    void push_allocation(const RecordedAllocation& allocation) noexcept {
      push(
          allocation.pointer, [&](QueueBuffer& buffer) { buffer.append(allocation); },
          [&] { consumer_.record_allocation(allocation); });
    }

    /// Pushes a free. If the newest event is the block's allocation, removes that and counts both.
    void push_deallocation(void* pointer) noexcept {
      push(
          pointer, [&](QueueBuffer& buffer) { cancel_or_append(buffer, pointer); },
          [&] { consumer_.record_deallocation(pointer); });
    }

    BlockRecord take(void* pointer) noexcept {
      Shard& shard = shard_of(pointer);
      const std::lock_guard hold_replay(shard.replay_lock);
      const std::lock_guard hold(shard.lock);
      shard.buffer.replay(consumer_);
      return consumer_.take(pointer);
    }

    void put_back(void* pointer, const BlockRecord& record) noexcept {
      consumer_.put_back(pointer, record);
    }

    /// Starts the worker. The buffer of a shard is allocated on the shard's first event.
    Status start(std::size_t max_bytes) {
      // One buffer per shard, and the worker's spare buffer.
      const std::size_t events =
          whole_memory(max_bytes / (kShards + 1)) / QueueBuffer::kBytesPerEvent;
      if (events == 0) {
        return Status::invalid_argument("BufferQueue: limits.max_queue_bytes = ", max_bytes,
                                        " leaves no room; give at least ",
                                        (kShards + 1) * QueueBuffer::kBytesPerEvent, " bytes");
      }
      events_per_shard_.store(events, std::memory_order_relaxed);
      return start_worker();
    }

    void stop() noexcept {
      stopping_.store(1, std::memory_order_release);
      os::futex_wake_all(stopping_);
      worker_.join();
      flush();
    }

    void flush() noexcept {
      for (Shard& shard : shards_) drain(shard);
    }

    /// Forgets the worker thread, which does not exist in the child of a fork. The child needs no
    /// worker, because threads drain shards that are full and readers call `flush`.
    void after_fork() noexcept { worker_.forget(); }

    /// Returns the maximum size of all buffers in bytes.
    [[nodiscard]] std::size_t capacity_bytes() const noexcept {
      return events_per_shard_.load(std::memory_order_relaxed) * QueueBuffer::kBytesPerEvent *
             (kShards + 1);
    }

   private:
    struct Shard {
      /// Acquired before `lock`, and held during a replay, so that an older buffer is replayed
      /// completely before a newer one.
      FutexLock replay_lock;
      FutexLock lock;
      QueueBuffer buffer;
    };

    /// Rounds `bytes` down to an allocation size without waste: whole pages, or a power of two
    /// below a page.
    static std::size_t whole_memory(std::size_t bytes) noexcept {
      const std::size_t page = os::page_size();
      return bytes < page ? std::bit_floor(bytes) : bytes & ~(page - 1);
    }

    Shard& shard_of(const void* pointer) noexcept {
      const std::uint64_t region = reinterpret_cast<std::uintptr_t>(pointer) >> 12;
      return shards_[(region * 0x9E3779B97F4A7C15) >> 56];
    }

    /// Applies `append` to the shard's buffer; calls `bypass` if the buffer cannot be allocated.
    template <class Append, class Bypass>
    void push(const void* pointer, Append append, Bypass bypass) noexcept {
      Shard& shard = shard_of(pointer);
      {
        const std::lock_guard hold(shard.lock);
        if (ready(shard) && !shard.buffer.full()) return append(shard.buffer);
      }
      const std::lock_guard hold_replay(shard.replay_lock);
      const std::lock_guard hold(shard.lock);
      shard.buffer.replay(consumer_);
      if (!ready(shard)) return bypass();
      append(shard.buffer);
    }

    bool ready(Shard& shard) noexcept {
      const std::size_t events = events_per_shard_.load(std::memory_order_relaxed);
      return events > 0 && shard.buffer.reserve(events);
    }

    void cancel_or_append(QueueBuffer& buffer, void* pointer) noexcept {
      const RecordedAllocation* allocation = buffer.newest_allocation_of(pointer);
      if (allocation == nullptr) return buffer.append_deallocation(pointer);
      consumer_.count_pair(allocation->record);
      buffer.remove_newest_allocation();
    }

    void drain(Shard& shard) noexcept {
      const std::lock_guard hold_replay(shard.replay_lock);
      const std::lock_guard hold(shard.lock);
      shard.buffer.replay(consumer_);
    }

    /// Replays the buffer without the shard's lock; meanwhile the spare buffer receives events.
    void drain_with_spare(Shard& shard) noexcept {
      const std::lock_guard hold_replay(shard.replay_lock);
      {
        const std::lock_guard hold(shard.lock);
        if (shard.buffer.empty()) return;
        std::swap(shard.buffer, spare_);
      }
      spare_.replay(consumer_);
    }

    Status start_worker() {
      stopping_.store(0, std::memory_order_relaxed);
      if (!spare_.reserve(events_per_shard_.load(std::memory_order_relaxed))) {
        return Status::resource_exhausted("BufferQueue: no memory for the worker's buffer");
      }
      const int error = worker_.start(&work, this);
      if (error == 0) return Status();
      return Status::resource_exhausted("BufferQueue: cannot start its worker thread: ",
                                        os::error_text(error));
    }

    static void work(void* queue) noexcept {
      const ReentrancyGuard guard;
      auto& self = *static_cast<For*>(queue);
      while (self.stopping_.load(std::memory_order_acquire) == 0) {
        self.sweep();
        os::futex_wait(self.stopping_, 0, kSweepInterval);
      }
    }

    void sweep() noexcept {
      for (Shard& shard : shards_) {
        const RecordingScope section;
        if (section.thread() != nullptr) drain_with_spare(shard);
      }
    }

    Consumer& consumer_;
    std::array<Shard, kShards> shards_{};
    QueueBuffer spare_;
    os::WorkerThread worker_;
    std::atomic<std::size_t> events_per_shard_{0};
    std::atomic<std::uint32_t> stopping_{0};
  };
};

static_assert(EventQueuePolicy<BufferQueue>);

}  // namespace alloctap
