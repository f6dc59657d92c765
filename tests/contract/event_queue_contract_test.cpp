// Every queue keeps the order of each pointer's events and loses none.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "alloctap/queue/buffer_queue.hpp"
#include "alloctap/queue/direct_queue.hpp"
#include "alloctap/queue/logging_queue.hpp"
#include "alloctap/status.hpp"
#include "tests/support/fakes.hpp"

namespace {

using alloctap::BlockRecord;
using alloctap::testing::ConsumerCall;
using alloctap::testing::ConsumerFunction;
using alloctap::testing::FakeConsumer;

/// Small enough that shards fill up often.
constexpr std::size_t kQueueBytes = 64 * 1024;

/// A started queue over a consumer that keeps everything.
template <class Policy>
struct Fixture {
  using Queue = typename Policy::template For<FakeConsumer>;

  FakeConsumer consumer;
  std::unique_ptr<Queue> queue = std::make_unique<Queue>(consumer);

  Fixture() { REQUIRE(queue->start(kQueueBytes).ok()); }
  ~Fixture() { queue->stop(); }

  void allocate(void* pointer, std::uint64_t size) {
    queue->push_allocation({.pointer = pointer, .record = {.stack = 2, .size = size}});
  }
};

void* block(std::size_t number) { return reinterpret_cast<void*>(0x10000 + number * 16); }

/// Allocations and frees that arrived, a cancelled pair counting as both.
struct Arrived {
  std::size_t allocations = 0;
  std::size_t deallocations = 0;
};

Arrived count(const std::vector<ConsumerCall>& calls) {
  Arrived arrived;
  for (const ConsumerCall& call : calls) {
    const bool pair = call.function == ConsumerFunction::kPair;
    arrived.allocations += pair || call.function == ConsumerFunction::kAllocation;
    arrived.deallocations += pair || call.function == ConsumerFunction::kDeallocation;
  }
  return arrived;
}

}  // namespace

TEST_CASE_TEMPLATE("everything pushed before a flush has arrived after it", Policy,
                   alloctap::DirectQueue, alloctap::BufferQueue, alloctap::LoggingQueue<>,
                   alloctap::LoggingQueue<alloctap::BufferQueue>) {
  Fixture<Policy> fixture;
  for (std::size_t i = 0; i < 5000; ++i) fixture.allocate(block(i), i);
  fixture.queue->flush();
  const auto live = fixture.consumer.live();
  REQUIRE(live.size() == 5000);
  for (std::size_t i = 0; i < 5000; ++i) CHECK(live.at(block(i)).size == i);
}

TEST_CASE_TEMPLATE("a free finds the allocation before it, and not the one after", Policy,
                   alloctap::DirectQueue, alloctap::BufferQueue, alloctap::LoggingQueue<>,
                   alloctap::LoggingQueue<alloctap::BufferQueue>) {
  Fixture<Policy> fixture;
  for (std::uint64_t round = 1; round <= 3000; ++round) {
    fixture.allocate(block(1), round);
    fixture.allocate(block(2), round);
    fixture.queue->push_deallocation(block(1));
    if (round < 3000) fixture.queue->push_deallocation(block(2));
  }
  fixture.queue->flush();
  const auto live = fixture.consumer.live();
  REQUIRE(live.size() == 1);
  CHECK(live.at(block(2)).size == 3000);
  const Arrived arrived = count(fixture.consumer.calls());
  CHECK(arrived.allocations == 6000);
  CHECK(arrived.deallocations == 5999);
}

TEST_CASE_TEMPLATE("take returns what was pushed last for a pointer, and put_back restores it",
                   Policy, alloctap::DirectQueue, alloctap::BufferQueue, alloctap::LoggingQueue<>,
                   alloctap::LoggingQueue<alloctap::BufferQueue>) {
  Fixture<Policy> fixture;
  fixture.allocate(block(1), 11);
  const BlockRecord record = fixture.queue->take(block(1));
  CHECK(record.size == 11);
  CHECK(fixture.queue->take(block(1)).stack == alloctap::kNoStackId);
  fixture.queue->put_back(block(1), record);
  fixture.queue->flush();
  CHECK(fixture.consumer.live().at(block(1)).size == 11);
}

TEST_CASE_TEMPLATE("threads that use different pointers at once lose nothing", Policy,
                   alloctap::DirectQueue, alloctap::BufferQueue, alloctap::LoggingQueue<>,
                   alloctap::LoggingQueue<alloctap::BufferQueue>) {
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kBlocks = 2000;
  Fixture<Policy> fixture;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&fixture, t] {
      for (std::size_t i = 0; i < kBlocks; ++i) {
        fixture.allocate(block(t * kBlocks + i), t);
        if (i % 2 == 0) fixture.queue->push_deallocation(block(t * kBlocks + i));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  fixture.queue->flush();
  const Arrived arrived = count(fixture.consumer.calls());
  CHECK(arrived.allocations == kThreads * kBlocks);
  CHECK(arrived.deallocations == kThreads * kBlocks / 2);
  CHECK(fixture.consumer.live().size() == kThreads * kBlocks / 2);
}

TEST_CASE_TEMPLATE("a queue that was stopped has delivered everything, and starts again", Policy,
                   alloctap::DirectQueue, alloctap::BufferQueue, alloctap::LoggingQueue<>,
                   alloctap::LoggingQueue<alloctap::BufferQueue>) {
  Fixture<Policy> fixture;
  fixture.allocate(block(1), 1);
  fixture.queue->stop();
  CHECK(fixture.consumer.live().size() == 1);
  REQUIRE(fixture.queue->start(kQueueBytes).ok());
  fixture.allocate(block(2), 2);
  fixture.queue->flush();
  CHECK(fixture.consumer.live().size() == 2);
}

TEST_CASE("a bound that leaves no room for an event is refused with the least that would do") {
  FakeConsumer consumer;
  const auto queue = std::make_unique<alloctap::BufferQueue::For<FakeConsumer>>(consumer);
  const alloctap::Status status = queue->start(100);
  CHECK(status.code() == alloctap::StatusCode::kInvalidArgument);
  CHECK(std::string(status.message()).find("max_queue_bytes = 100") != std::string::npos);
  CHECK(std::string(status.message()).find("at least") != std::string::npos);
}
