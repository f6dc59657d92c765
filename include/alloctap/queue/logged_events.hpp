/// What an event log held at one moment.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>

#include "alloctap/queue/event_stream.hpp"
#include "alloctap/runtime/arena_array.hpp"

namespace alloctap {

/// The first `count` events of a log, as parts of the streams of its threads. Refers to the log.
/// Memory from the arena. Move-only.
class LoggedEvents {
 public:
  /// How many there are.
  std::uint64_t count = 0;
  /// How many came after the log was full, and are not in it.
  std::uint64_t missed = 0;
  /// One for each stream, in any order. Their sequences together are all numbers below `count`,
  /// each once; what is above is not looked at.
  ArenaArray<EventStreamPart> parts;

  /// Whether there is a log, with all that happened in it.
  [[nodiscard]] bool complete() const noexcept { return count > 0 && missed == 0; }

  /// Calls `visit(const LoggedEvent&)` for each, in the order of their sequence. False, and none
  /// or not all visited, where the system has no memory for the merge.
  template <class Visit>
  [[nodiscard]] bool for_each(Visit&& visit) const {
    ArenaArray<EventStreamReader> readers;
    if (!begin(readers)) return false;
    while (!readers.empty()) {
      std::pop_heap(readers.begin(), readers.end(), &comes_later);
      // A thread has many events in a row.
      EventStreamReader& reader = readers.back();
      std::uint64_t sequence = reader.event().sequence;
      bool more = true;
      for (; more && reader.event().sequence == sequence; ++sequence) {
        visit(reader.event());
        more = has_next(reader);
      }
      if (more) {
        std::push_heap(readers.begin(), readers.end(), &comes_later);
      } else {
        static_cast<void>(readers.resize_for_overwrite(readers.size() - 1));
      }
    }
    return true;
  }

 private:
  static bool comes_later(const EventStreamReader& one, const EventStreamReader& other) noexcept {
    return one.event().sequence > other.event().sequence;
  }

  [[nodiscard]] bool has_next(EventStreamReader& reader) const noexcept {
    return reader.next() && reader.event().sequence < count;
  }

  [[nodiscard]] bool begin(ArenaArray<EventStreamReader>& readers) const noexcept {
    for (const EventStreamPart& part : parts) {
      EventStreamReader reader(part);
      if (has_next(reader) && !readers.push_back(reader)) return false;
    }
    std::make_heap(readers.begin(), readers.end(), &comes_later);
    return true;
  }
};

}  // namespace alloctap
