#include <doctest/doctest.h>

#include <array>
#include <random>
#include <vector>

#include "alloctap/queue/event_stream.hpp"
#include "tests/support/exhausted_arena.hpp"

namespace {

using namespace alloctap;

/// Some threads' streams, which have the sequences below `count` between them.
struct Streams {
  static constexpr std::size_t kThreads = 5;

  explicit Streams(std::uint64_t count) {
    std::mt19937 random(1);
    for (std::uint64_t sequence = 0; sequence < count; ++sequence) {
      // Some have many in a row.
      if (random() % 4 == 0) thread_ = random() % kThreads;
      EventStream& stream = streams_[thread_];
      if (!stream.has_room()) REQUIRE(stream.grow());
      stream.append({.sequence = sequence, .address = sequence * 3});
    }
  }
  ~Streams() {
    for (EventStream& stream : streams_) stream.release();
  }

  [[nodiscard]] LoggedEvents first(std::uint64_t count) const {
    LoggedEvents events;
    events.count = count;
    for (const EventStream& stream : streams_) {
      REQUIRE(events.parts.push_back(stream.all()));
    }
    return events;
  }

 private:
  std::array<EventStream, kThreads> streams_;
  std::size_t thread_ = 0;
};

std::uint64_t count_in_order(const LoggedEvents& events) {
  std::uint64_t count = 0;
  std::uint64_t wrong = 0;
  REQUIRE(events.for_each([&](const LoggedEvent& event) {
    wrong += event.sequence != count || event.address != count * 3;
    ++count;
  }));
  CHECK(wrong == 0);
  return count;
}

}  // namespace

TEST_CASE("events of many streams come in the order of their sequence") {
  const Streams streams(20'000);
  CHECK(count_in_order(streams.first(20'000)) == 20'000);
}

TEST_CASE("events that came after the end of a log are not in it") {
  const Streams streams(2'000);
  for (const std::uint64_t count : {0U, 1U, 999U, 1'999U}) {
    CHECK(count_in_order(streams.first(count)) == count);
  }
}

TEST_CASE("a log that is empty or not whole is not complete") {
  LoggedEvents events;
  CHECK_FALSE(events.complete());
  events.count = 1;
  CHECK(events.complete());
  events.missed = 1;
  CHECK_FALSE(events.complete());
}

TEST_CASE("a merge that gets no memory says so") {
  const Streams streams(100);
  const LoggedEvents events = streams.first(100);
  bool merged = true;
  {
    const testing::StarvedArena starved;
    merged = events.for_each([](const LoggedEvent&) {});
  }
  CHECK_FALSE(merged);
}
