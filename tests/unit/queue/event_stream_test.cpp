#include "alloctap/queue/event_stream.hpp"

#include <doctest/doctest.h>

#include <array>
#include <limits>
#include <random>
#include <vector>

#include "tests/support/exhausted_arena.hpp"

namespace {

using namespace alloctap;
using enum LoggedKind;

/// A stream that gives its memory back.
struct OwnedStream : EventStream {
  ~OwnedStream() { release(); }

  void add(const LoggedEvent& event) {
    if (!has_room()) REQUIRE(grow());
    append(event);
  }
};

std::vector<LoggedEvent> read(const EventStreamPart& part) {
  std::vector<LoggedEvent> events;
  for (EventStreamReader reader(part); reader.next();) events.push_back(reader.event());
  return events;
}

/// Steps up and down of all lengths.
std::vector<LoggedEvent> random_events(std::size_t count) {
  std::mt19937_64 random(1);
  const auto number = [&] { return random() >> random() % 64; };
  std::vector<LoggedEvent> events;
  std::uint64_t sequence = 0;
  for (std::size_t i = 0; i < count; ++i) {
    LoggedEvent event{.sequence = sequence,
                      .kind = static_cast<LoggedKind>(random() % 4),
                      .thread = static_cast<std::uint32_t>(number()),
                      .address = number(),
                      .time_ns = static_cast<std::int64_t>(number())};
    if (event.adds_block()) {
      event.size = number();
      event.stack = static_cast<StackId>(number());
    }
    events.push_back(event);
    sequence += random() % 3 == 0 ? 1 + random() % 1000 : 1;
  }
  return events;
}

}  // namespace

TEST_CASE("events come back with all that they said, over many chunks") {
  OwnedStream stream;
  const auto events = random_events(20'000);
  for (const LoggedEvent& event : events) stream.add(event);
  CHECK(stream.all().first != stream.all().last);
  CHECK(read(stream.all()) == events);
}

TEST_CASE("the largest event there can be takes no more room than is kept for one") {
  constexpr auto kMaxCount = std::numeric_limits<std::uint64_t>::max();
  const LoggedEvent event{.sequence = kMaxCount - 2,
                          .kind = kPutBack,
                          .thread = std::numeric_limits<std::uint32_t>::max(),
                          .stack = std::numeric_limits<StackId>::max(),
                          .address = std::uintptr_t{1} << 63,
                          .size = kMaxCount,
                          .time_ns = std::numeric_limits<std::int64_t>::min()};
  std::array<std::byte, EventCoding::kMaxBytes> bytes{};
  const std::byte* end = EventCoding::encode(event, kBeforeFirstEvent, bytes.data());
  CHECK(static_cast<std::size_t>(end - bytes.data()) <= bytes.size());
  LoggedEvent decoded = kBeforeFirstEvent;
  CHECK(EventCoding::decode(bytes.data(), decoded) == end);
  CHECK(decoded == event);
}

TEST_CASE("a usual allocation takes seven bytes, its free four") {
  const LoggedEvent before{.sequence = 9, .thread = 1, .stack = 700, .address = 0x55'5555'5000};
  const LoggedEvent allocation{
      .sequence = 10, .thread = 1, .stack = 701, .address = 0x55'5555'a000, .size = 100};
  const LoggedEvent free{
      .sequence = 11, .kind = kDeallocation, .thread = 1, .address = 0x55'5555'5000};
  std::array<std::byte, EventCoding::kMaxBytes> bytes{};
  CHECK(EventCoding::encode(allocation, before, bytes.data()) - bytes.data() == 7);
  CHECK(EventCoding::encode(free, allocation, bytes.data()) - bytes.data() == 4);
}

TEST_CASE("what was taken from a stream stays what it was while the stream grows") {
  OwnedStream stream;
  const auto events = random_events(5'000);
  CHECK(read(stream.all()).empty());
  std::vector<EventStreamPart> parts;
  for (const LoggedEvent& event : events) {
    parts.push_back(stream.all());
    stream.add(event);
  }
  for (std::size_t i = 0; i < parts.size(); i += 499) {
    CHECK(read(parts[i]).size() == i);
  }
}

TEST_CASE("a stream that gets no memory says so and keeps what it has") {
  OwnedStream stream;
  const auto events = random_events(10);
  for (const LoggedEvent& event : events) stream.add(event);
  bool grown = true;
  {
    const testing::StarvedArena starved;
    grown = stream.grow();
  }
  CHECK_FALSE(grown);
  CHECK(read(stream.all()) == events);
}
