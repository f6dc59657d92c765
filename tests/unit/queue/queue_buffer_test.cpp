#include <doctest/doctest.h>

#include <vector>

#include "alloctap/queue/buffer_queue.hpp"
#include "tests/support/exhausted_arena.hpp"
#include "tests/support/fakes.hpp"

namespace {

using alloctap::QueueBuffer;
using alloctap::RecordedAllocation;
using alloctap::testing::ConsumerCall;
using alloctap::testing::ConsumerFunction;
using alloctap::testing::FakeConsumer;
using alloctap::testing::StarvedArena;

void* at(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

RecordedAllocation allocation(std::uintptr_t address, std::uint64_t size) {
  return {.pointer = at(address), .record = {.stack = 7, .size = size}};
}

/// A buffer that gives its memory back.
struct OwnedBuffer : QueueBuffer {
  explicit OwnedBuffer(std::size_t events) { REQUIRE(reserve(events)); }
  ~OwnedBuffer() { release(); }
};

}  // namespace

TEST_CASE("events are replayed in order with all that they said, once") {
  constexpr std::uintptr_t kHighest = 0x7FFF'FFFF'FFF0;
  OwnedBuffer buffer(8);
  CHECK(buffer.empty());
  buffer.append(allocation(0x1000, 16));
  buffer.append_deallocation(at(0x2000));
  buffer.append(allocation(kHighest, std::uint64_t{1} << 40));
  buffer.append_deallocation(at(kHighest));
  CHECK_FALSE(buffer.empty());

  FakeConsumer consumer;
  buffer.replay(consumer);
  buffer.replay(consumer);
  const std::vector<ConsumerCall> calls = consumer.calls();
  REQUIRE(calls.size() == 4);
  CHECK(calls[0].function == ConsumerFunction::kAllocation);
  CHECK(calls[0].pointer == at(0x1000));
  CHECK(calls[0].record.stack == 7);
  CHECK(calls[0].record.size == 16);
  CHECK(calls[1].function == ConsumerFunction::kDeallocation);
  CHECK(calls[1].pointer == at(0x2000));
  CHECK(calls[2].record.size == std::uint64_t{1} << 40);
  CHECK(calls[3].pointer == at(kHighest));
  CHECK(calls[3].function == ConsumerFunction::kDeallocation);
  CHECK(buffer.empty());
}

TEST_CASE("a buffer is full when it holds what it was reserved for, of either kind") {
  OwnedBuffer buffer(3);
  CHECK_FALSE(buffer.full());
  buffer.append(allocation(0x1000, 1));
  buffer.append(allocation(0x2000, 2));
  CHECK_FALSE(buffer.full());
  buffer.append(allocation(0x3000, 3));
  CHECK(buffer.full());

  FakeConsumer consumer;
  buffer.replay(consumer);
  CHECK_FALSE(buffer.full());
  for (int i = 0; i < 3; ++i) buffer.append_deallocation(at(0x1000));
  CHECK(buffer.full());
}

TEST_CASE("a buffer that was replayed has all of its room again") {
  OwnedBuffer buffer(2);
  for (std::uintptr_t round = 1; round <= 3; ++round) {
    buffer.append(allocation(round * 0x1000, round));
    buffer.append(allocation(round * 0x1000 + 16, round));
    FakeConsumer consumer;
    buffer.replay(consumer);
    const std::vector<ConsumerCall> calls = consumer.calls();
    REQUIRE(calls.size() == 2);
    CHECK(calls[0].pointer == at(round * 0x1000));
    CHECK(calls[0].record.size == round);
    CHECK(calls[1].pointer == at(round * 0x1000 + 16));
  }
}

TEST_CASE("the newest allocation is known until any other message follows") {
  OwnedBuffer buffer(8);
  CHECK(buffer.newest_allocation_of(at(0x1000)) == nullptr);
  buffer.append(allocation(0x1000, 16));
  REQUIRE(buffer.newest_allocation_of(at(0x1000)) != nullptr);
  CHECK(buffer.newest_allocation_of(at(0x1000))->record.size == 16);
  CHECK(buffer.newest_allocation_of(at(0x1010)) == nullptr);
  buffer.append_deallocation(at(0x2000));
  CHECK(buffer.newest_allocation_of(at(0x1000)) == nullptr);
  buffer.append(allocation(0x3000, 32));
  CHECK(buffer.newest_allocation_of(at(0x3000)) != nullptr);
  CHECK(buffer.newest_allocation_of(at(0x1000)) == nullptr);
}

TEST_CASE("removing the newest allocation uncovers the message before it") {
  OwnedBuffer buffer(3);
  buffer.append(allocation(0x1000, 16));
  buffer.append(allocation(0x2000, 32));
  buffer.remove_newest_allocation();
  CHECK(buffer.newest_allocation_of(at(0x1000)) != nullptr);
  buffer.append(allocation(0x3000, 48));

  FakeConsumer consumer;
  buffer.replay(consumer);
  const std::vector<ConsumerCall> calls = consumer.calls();
  REQUIRE(calls.size() == 2);
  CHECK(calls[0].pointer == at(0x1000));
  CHECK(calls[1].pointer == at(0x3000));
  CHECK(calls[1].record.size == 48);
}

TEST_CASE("a reserved buffer keeps its events and its size when reserved again") {
  OwnedBuffer buffer(2);
  buffer.append(allocation(0x1000, 16));
  CHECK(buffer.reserve(100));
  buffer.append(allocation(0x2000, 16));
  CHECK(buffer.full());
}

TEST_CASE("without memory a buffer stays empty and full, and gets its room later") {
  QueueBuffer buffer;
  bool reserved = true;
  {
    const StarvedArena starved;
    reserved = buffer.reserve(64);
  }
  CHECK_FALSE(reserved);
  CHECK(buffer.empty());
  CHECK(buffer.full());
  CHECK(buffer.reserve(64));
  CHECK_FALSE(buffer.full());
  buffer.release();
}
