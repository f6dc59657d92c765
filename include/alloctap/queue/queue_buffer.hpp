/// The event buffer of one shard of a `BufferQueue`.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/queue/event_queue.hpp"
#include "alloctap/runtime/arena.hpp"

namespace alloctap {

/// An arena block with two arrays: 8-byte messages, and the payloads of allocations. A message is
/// {type : 8, pointer or payload index : 56}. Runs inside malloc. Not thread-safe.
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

}  // namespace alloctap
