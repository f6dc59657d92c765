/// Small records that have everything: what fuzzing of records starts from. The same in every run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "alloctap/dump/record_dump.hpp"
#include "alloctap/queue/event_stream.hpp"
#include "tests/support/framed_report.hpp"

namespace alloctap::testing {

/// A report with names, a module that was unloaded, a block, tags and frames of a game.
class SeedReport {
 public:
  SeedReport() {
    static_cast<void>(sample_.modules.add_unloaded({.start = SampleReport::kMain,
                                                    .end = SampleReport::kMain + 0x1000,
                                                    .path = "/opt/game",
                                                    .unloaded_before = ~StackId{0}}));
    sample_.names = {{SampleReport::kParse, SampleReport::kMain, "engine::next", "next.cpp", 3},
                     {SampleReport::kParse, SampleReport::kMain, "engine::parse", "parse.cpp", 4}};
    Snapshot& snapshot = sample_.snapshot;
    static_cast<void>(snapshot.blocks.push_back({0x5000, 100, kUnknownStack}));
    snapshot.freed.knowledge = FreedKnowledge::kAll;
    static_cast<void>(snapshot.freed.blocks.push_back({snapshot.stacks[1].stack, 1, 3, 300}));
  }
  SeedReport(const SeedReport&) = delete;
  SeedReport& operator=(const SeedReport&) = delete;
  ~SeedReport() { events_.release(); }

  /// Adds a log of `count` events of two threads: blocks come, go, move, are not moved after all.
  void add_events(std::size_t count) {
    std::mt19937_64 random(7);
    Snapshot& snapshot = sample_.snapshot;
    for (std::size_t i = 0; i < count; ++i) {
      if (!events_.has_room() && !events_.grow()) return;
      // Of four, an allocation comes twice as often.
      const auto kind = static_cast<LoggedKind>(random() % 5 % 4);
      LoggedEvent event{.sequence = i,
                        .kind = kind,
                        .thread = static_cast<std::uint32_t>(1 + random() % 2),
                        .address = 0x1000 + random() % 8 * 64,
                        .time_ns = 1'700'000'000'000'000'000 + static_cast<std::int64_t>(i) * 999};
      if (event.adds_block()) {
        event.size = random() % 500;
        event.stack = snapshot.stacks[random() % snapshot.stacks.size()].stack;
      }
      events_.append(event);
    }
    snapshot.events.count = count;
    static_cast<void>(snapshot.events.parts.push_back(events_.all()));
  }

  [[nodiscard]] std::string record() const { return render(RecordDump{}, sample_.report()); }

 private:
  FramedReport sample_;
  EventStream events_;
};

/// Without events, and with some.
[[nodiscard]] inline std::vector<std::string> seed_records() {
  SeedReport plain;
  SeedReport logged;
  logged.add_events(60);
  return {plain.record(), logged.record()};
}

}  // namespace alloctap::testing
