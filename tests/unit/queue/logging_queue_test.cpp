#include "alloctap/queue/logging_queue.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <thread>
#include <vector>

#include "alloctap/os/clock.hpp"
#include "alloctap/queue/buffer_queue.hpp"
#include "tests/support/exhausted_arena.hpp"
#include "tests/support/fakes.hpp"

namespace {

using namespace alloctap;
using enum LoggedKind;
using testing::FakeConsumer;

void* block(std::size_t number) { return reinterpret_cast<void*>(0x10000 + number * 16); }

/// A queue of its own, in front of a consumer that keeps everything.
template <class Inner = DirectQueue, std::size_t kMaxBytes = 1 << 20>
struct Logged {
  using Queue = typename LoggingQueue<Inner, kMaxBytes>::template For<FakeConsumer>;

  FakeConsumer consumer;
  std::unique_ptr<Queue> queue = std::make_unique<Queue>(consumer);

  void allocate(std::size_t number, std::uint64_t size = 8, StackId stack = 5) {
    queue->push_allocation({.pointer = block(number), .record = {.stack = stack, .size = size}});
  }
  void free(std::size_t number) { queue->push_deallocation(block(number)); }

  LoggedEvents cut() {
    LoggedEvents events;
    REQUIRE(queue->log().cut(events));
    return events;
  }
};

std::vector<LoggedEvent> list(const LoggedEvents& events) {
  std::vector<LoggedEvent> all;
  REQUIRE(events.for_each([&](const LoggedEvent& event) { all.push_back(event); }));
  return all;
}

}  // namespace

TEST_CASE("what passes through the queue is in the log, and arrives") {
  Logged logged;
  logged.allocate(1, 100, 7);
  logged.free(1);
  logged.allocate(2, 200, 8);
  const BlockRecord record = logged.queue->take(block(2));
  logged.queue->put_back(block(2), record);
  const auto events = list(logged.cut());
  REQUIRE(events.size() == 5);
  const LoggedKind kinds[] = {kAllocation, kDeallocation, kAllocation, kDetach, kPutBack};
  const std::size_t blocks[] = {1, 1, 2, 2, 2};
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(events[i].sequence == i);
    CHECK(events[i].kind == kinds[i]);
    CHECK(events[i].address == reinterpret_cast<std::uintptr_t>(block(blocks[i])));
    CHECK(events[i].thread == 1);
  }
  CHECK(events[0].size == 100);
  CHECK(events[0].stack == 7);
  CHECK(events[4].size == 200);
  CHECK(events[4].stack == 8);
  CHECK(logged.consumer.calls().size() == 5);
  CHECK(logged.consumer.live().at(block(2)).size == 200);
}

TEST_CASE("events are told the time of day") {
  constexpr std::int64_t kSecond = 1'000'000'000;
  Logged logged;
  logged.allocate(1);
  const auto events = list(logged.cut());
  CHECK(events[0].time_ns > os::wall_clock_ns() - 5 * kSecond);
  CHECK(events[0].time_ns < os::wall_clock_ns() + kSecond);
}

TEST_CASE("what an inner queue can do besides, this one can") {
  using Direct = LoggingQueue<DirectQueue>::For<FakeConsumer>;
  using Buffered = LoggingQueue<BufferQueue>::For<FakeConsumer>;
  CHECK(Direct::features.delivers_at_once);
  CHECK_FALSE(Buffered::features.delivers_at_once);
}

TEST_CASE("a log is of the moment when it was asked for") {
  Logged logged;
  logged.allocate(1);
  const LoggedEvents before = logged.cut();
  for (std::size_t i = 2; i < 10'000; ++i) logged.allocate(i);
  CHECK(list(before).size() == 1);
  CHECK(before.complete());
  CHECK(list(logged.cut()).size() == 9'999);
}

TEST_CASE("each log has its own events, whichever stood there before") {
  for (std::size_t round = 1; round < 4; ++round) {
    Logged one;
    Logged other;
    for (std::size_t i = 0; i < round; ++i) {
      one.allocate(i);
      other.allocate(i);
      other.free(i);
    }
    CHECK(list(one.cut()).size() == round);
    CHECK(list(other.cut()).size() == 2 * round);
  }
}

TEST_CASE("blocks that threads free for each other come, go and come again in that order") {
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kBlocks = 64;
  constexpr std::size_t kRounds = 20'000;
  Logged<DirectQueue, 64 << 20> logged;
  // Whoever finds a block takes it, or puts one there: as an allocator hands memory around.
  std::vector<std::atomic<int>> places(kBlocks);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < kRounds; ++i) {
        const std::size_t at = (i * 7 + t * 13) % kBlocks;
        int state = places[at].load();
        if (state == 2 || !places[at].compare_exchange_strong(state, 2)) continue;
        state == 0 ? logged.allocate(at) : logged.free(at);
        places[at].store(state == 0 ? 1 : 0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<bool> live(kBlocks);
  std::vector<bool> seen(kThreads + 1);
  std::size_t wrong = 0;
  const auto events = list(logged.cut());
  for (std::size_t i = 0; i < events.size(); ++i) {
    const std::size_t at = (events[i].address - 0x10000) / 16;
    wrong += events[i].sequence != i || live[at] == events[i].adds_block();
    live[at] = events[i].adds_block();
    seen[events[i].thread] = true;
  }
  CHECK(wrong == 0);
  CHECK(events.size() == logged.consumer.calls().size());
  CHECK(std::count(seen.begin(), seen.end(), true) == kThreads);
}

TEST_CASE("a thread that takes over what an ended one left has a number of its own") {
  Logged logged;
  for (std::size_t i = 0; i < 40; ++i) std::thread([&] { logged.allocate(i); }).join();
  const auto events = list(logged.cut());
  REQUIRE(events.size() == 40);
  for (std::size_t i = 0; i < 40; ++i) CHECK(events[i].thread == i + 1);
}

TEST_CASE("a log that is full is the beginning, says how much is missing, and the rest goes on") {
  Logged<DirectQueue, 2 * EventChunk::kBytes> logged;
  constexpr std::size_t kEvents = 50'000;
  for (std::size_t i = 0; i < kEvents / 2; ++i) {
    logged.allocate(i);
    logged.free(i);
  }
  const LoggedEvents cut = logged.cut();
  const auto events = list(cut);
  CHECK_FALSE(cut.complete());
  CHECK(events.size() > 1000);
  CHECK(events.size() == cut.count);
  CHECK(cut.count + cut.missed == kEvents);
  CHECK(events.back().sequence + 1 == events.size());
  CHECK(logged.consumer.calls().size() == kEvents);
}

TEST_CASE("when one thread finds the log full, it ends for all at the same place") {
  Logged<DirectQueue, 3 * EventChunk::kBytes> logged;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < 20'000; ++i) logged.allocate(t << 20 | i);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const LoggedEvents cut = logged.cut();
  const auto events = list(cut);
  CHECK(cut.count + cut.missed == 60'000);
  CHECK(events.size() == cut.count);
  std::size_t gaps = 0;
  for (std::size_t i = 0; i < events.size(); ++i) gaps += events[i].sequence != i;
  CHECK(gaps == 0);
}

TEST_CASE("a bound that leaves no room for a chunk leaves the log empty") {
  Logged logged;
  logged.queue->log().set_most_bytes(EventChunk::kBytes - 1);
  logged.allocate(1);
  const LoggedEvents cut = logged.cut();
  CHECK(cut.count == 0);
  CHECK(cut.missed == 1);
  CHECK(list(cut).empty());
}

TEST_CASE("a log that gets no memory ends there, and what comes later is counted") {
  constexpr std::size_t kEvents = 20'000;
  using Queue = LoggingQueue<>::For<QueueConsumerArchetype>;
  QueueConsumerArchetype consumer;
  const auto queue = std::make_unique<Queue>(consumer);
  queue->push_deallocation(block(0));
  {
    const testing::StarvedArena starved;
    for (std::size_t i = 1; i < kEvents; ++i) queue->push_deallocation(block(i));
  }
  queue->push_deallocation(block(1));
  LoggedEvents events;
  REQUIRE(queue->log().cut(events));
  CHECK(events.count > 1'000);
  CHECK(events.count < kEvents);
  CHECK(events.count + events.missed == kEvents + 1);
  CHECK(list(events).size() == events.count);
}
