/// A queue consumer that stores all calls, for tests of queues.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap::testing {

enum class ConsumerFunction : std::uint8_t {
  kAllocation,
  kDeallocation,
  kTake,
  kPutBack,
  kPair,
};

/// One call of a consumer, with its arguments.
struct ConsumerCall {
  ConsumerFunction function = ConsumerFunction::kAllocation;
  /// nullptr for `count_pair`, whose block was freed before the consumer received it.
  void* pointer = nullptr;
  BlockRecord record;
};

/// Stores all calls in order, and the records of live blocks, which `take` returns. Thread-safe. No
/// tracker records the consumer's own allocations, on any thread.
class FakeConsumer {
 public:
  void record_allocation(const RecordedAllocation& allocation) noexcept {
    const ReentrancyGuard guard;
    const std::lock_guard hold(lock_);
    calls_.push_back({ConsumerFunction::kAllocation, allocation.pointer, allocation.record});
    live_[allocation.pointer] = allocation.record;
  }

  void record_deallocation(void* pointer) noexcept {
    const ReentrancyGuard guard;
    const std::lock_guard hold(lock_);
    calls_.push_back({ConsumerFunction::kDeallocation, pointer, remove(pointer)});
  }

  BlockRecord take(void* pointer) noexcept {
    const ReentrancyGuard guard;
    const std::lock_guard hold(lock_);
    const BlockRecord record = remove(pointer);
    calls_.push_back({ConsumerFunction::kTake, pointer, record});
    return record;
  }

  void put_back(void* pointer, const BlockRecord& record) noexcept {
    const ReentrancyGuard guard;
    const std::lock_guard hold(lock_);
    calls_.push_back({ConsumerFunction::kPutBack, pointer, record});
    live_[pointer] = record;
  }

  void count_pair(const BlockRecord& record) noexcept {
    const ReentrancyGuard guard;
    const std::lock_guard hold(lock_);
    calls_.push_back({ConsumerFunction::kPair, nullptr, record});
  }

  /// Returns a copy of all calls so far.
  [[nodiscard]] std::vector<ConsumerCall> calls() {
    const std::lock_guard hold(lock_);
    return calls_;
  }

  /// Returns a copy of the live records.
  [[nodiscard]] std::map<void*, BlockRecord> live() {
    const std::lock_guard hold(lock_);
    return live_;
  }

 private:
  BlockRecord remove(void* pointer) {
    const auto place = live_.find(pointer);
    if (place == live_.end()) return {};
    const BlockRecord record = place->second;
    live_.erase(place);
    return record;
  }

  std::mutex lock_;
  std::vector<ConsumerCall> calls_;
  std::map<void*, BlockRecord> live_;
};

}  // namespace alloctap::testing
