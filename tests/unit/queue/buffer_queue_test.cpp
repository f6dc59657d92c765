#include "alloctap/queue/buffer_queue.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "alloctap/status.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/fakes.hpp"
#include "tests/support/thread_sanitizer.hpp"

namespace {

using alloctap::BlockRecord;
using alloctap::BufferQueue;
using alloctap::QueueBuffer;
using alloctap::RecordedAllocation;
using alloctap::testing::ConsumerCall;
using alloctap::testing::ConsumerFunction;
using alloctap::testing::FakeConsumer;
using alloctap::testing::holds_in_child;
using alloctap::testing::kThreadSanitizer;

/// Room for so many events in each shard.
constexpr std::size_t bytes_for(std::size_t events) {
  return (BufferQueue::kShards + 1) * QueueBuffer::kBytesPerEvent * events;
}

/// Takes its time for allocations of `slow`.
class SlowConsumer : public FakeConsumer {
 public:
  void record_allocation(const RecordedAllocation& allocation) noexcept {
    if (allocation.pointer == slow) {
      busy = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    FakeConsumer::record_allocation(allocation);
  }

  void* slow = nullptr;
  std::atomic<bool> busy{false};
};

template <class Consumer>
struct Started {
  explicit Started(std::size_t bytes) { REQUIRE(queue->start(bytes).ok()); }
  ~Started() { queue->stop(); }

  void allocate(void* pointer, std::uint64_t size) {
    queue->push_allocation({.pointer = pointer, .record = {.stack = 2, .size = size}});
  }

  Consumer consumer;
  std::unique_ptr<BufferQueue::For<Consumer>> queue =
      std::make_unique<BufferQueue::For<Consumer>>(consumer);
};

void* const kBlock = reinterpret_cast<void*>(0x1230);

bool comes_true(const std::function<bool()>& condition) {
  for (int i = 0; i < 1000 && !condition(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return condition();
}

/// An allocation is with the worker, which takes its time; then `newer` happens to that block. What
/// arrived first must have arrived in this order.
std::vector<ConsumerFunction> order_behind_busy_worker(
    const std::function<void(BufferQueue::For<SlowConsumer>&)>& newer) {
  Started<SlowConsumer> started(bytes_for(1));
  started.consumer.slow = kBlock;
  started.allocate(kBlock, 10);
  REQUIRE(comes_true([&] { return started.consumer.busy.load(); }));
  newer(*started.queue);
  std::vector<ConsumerFunction> functions;
  for (const ConsumerCall& call : started.consumer.calls()) functions.push_back(call.function);
  // The worker goes on with what came last.
  functions.resize(std::min<std::size_t>(functions.size(), 2));
  return functions;
}

}  // namespace

TEST_CASE("what is flushed waits for what the worker has taken before it") {
  const auto order = order_behind_busy_worker([](auto& queue) {
    queue.push_deallocation(kBlock);
    queue.flush();
  });
  CHECK(order == std::vector{ConsumerFunction::kAllocation, ConsumerFunction::kDeallocation});
}

TEST_CASE("a thread that finds its shard full waits for what the worker has taken before it") {
  const auto order = order_behind_busy_worker([](auto& queue) {
    queue.push_deallocation(kBlock);
    queue.push_allocation({.pointer = kBlock, .record = {.stack = 2, .size = 20}});
  });
  CHECK(order == std::vector{ConsumerFunction::kAllocation, ConsumerFunction::kDeallocation});
}

TEST_CASE("a block is taken after what the worker has taken before it") {
  BlockRecord record;
  const auto order = order_behind_busy_worker([&](auto& queue) { record = queue.take(kBlock); });
  CHECK(order == std::vector{ConsumerFunction::kAllocation, ConsumerFunction::kTake});
  CHECK(record.size == 10);
}

TEST_CASE("the worker drains every shard on its own") {
  Started<FakeConsumer> started(bytes_for(64));
  for (std::uintptr_t i = 1; i <= 5000; ++i) started.allocate(reinterpret_cast<void*>(16 * i), i);
  CHECK(comes_true([&] { return started.consumer.live().size() == 5000; }));
}

TEST_CASE("a free that meets its allocation as the newest of its shard is a pair") {
  Started<FakeConsumer> started(bytes_for(8));
  // The worker may be faster now and then.
  CHECK(comes_true([&] {
    started.allocate(kBlock, 10);
    started.queue->push_deallocation(kBlock);
    started.queue->flush();
    const ConsumerCall last = started.consumer.calls().back();
    return last.function == ConsumerFunction::kPair && last.record.size == 10;
  }));
  CHECK(started.consumer.live().empty());
}

TEST_CASE("the buffers never take more memory than they may, pages and all") {
  FakeConsumer consumer;
  const auto queue = std::make_unique<BufferQueue::For<FakeConsumer>>(consumer);
  for (const std::size_t bytes :
       {bytes_for(1), bytes_for(2) - 1, std::size_t{1} << 20, std::size_t{5'000'000},
        std::size_t{12} << 20, std::size_t{16} << 20, std::size_t{100} << 20}) {
    CAPTURE(bytes);
    REQUIRE(queue->start(bytes).ok());
    const std::size_t buffers = BufferQueue::kShards + 1;
    const std::size_t each = queue->capacity_bytes() / buffers;
    const std::size_t page = alloctap::os::page_size();
    const std::size_t taken = each < page ? std::bit_ceil(each) : (each + page - 1) / page * page;
    CHECK(taken * buffers <= bytes);
    CHECK(queue->capacity_bytes() > bytes / 2);
    queue->stop();
  }
}

TEST_CASE("a bound that leaves no room names the least that does, and that does") {
  FakeConsumer consumer;
  const auto queue = std::make_unique<BufferQueue::For<FakeConsumer>>(consumer);
  const alloctap::Status status = queue->start(bytes_for(1) - 1);
  CHECK(status.code() == alloctap::StatusCode::kInvalidArgument);
  const std::string message(status.message());
  CHECK(message.find("limits.max_queue_bytes = " + std::to_string(bytes_for(1) - 1)) !=
        message.npos);
  CHECK(message.find("give at least " + std::to_string(bytes_for(1)) + " bytes") != message.npos);
  REQUIRE(queue->start(bytes_for(1)).ok());
  queue->stop();
}

TEST_CASE("in the child of a fork a queue works without its worker") {
  Started<FakeConsumer> started(bytes_for(4));
  started.queue->flush();
  CHECK(holds_in_child([&] {
    started.queue->after_fork();
    for (std::uintptr_t i = 1; i <= 5000; ++i) {
      started.allocate(reinterpret_cast<void*>(16 * i), i);
    }
    started.queue->flush();
    const bool all = started.consumer.live().size() == 5000;
    started.queue->stop();
    return all;
  }));
}

TEST_CASE("in the child of a fork a queue that starts again has a worker" *
          doctest::skip(kThreadSanitizer)) {
  Started<FakeConsumer> started(bytes_for(4));
  started.queue->flush();
  CHECK(holds_in_child([&] {
    started.queue->after_fork();
    if (!started.queue->start(bytes_for(4)).ok()) return false;
    started.allocate(kBlock, 1);
    return comes_true([&] { return started.consumer.live().size() == 1; });
  }));
}
