/// The contents of an event log at one moment.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>

#include "alloctap/queue/event_stream.hpp"
#include "alloctap/runtime/arena_array.hpp"

namespace alloctap {

/// References to the first `count` events of a log, which the log owns. The array `parts` is arena
/// memory. Move-only.
class LoggedEvents {
 public:
  /// The number of events.
  std::uint64_t count = 0;
  /// The number of events after the end of the log, which were not logged.
  std::uint64_t missed = 0;
  /// One part per stream, unordered. Together the parts have each sequence number below `count`
  /// exactly once. Events with higher numbers are ignored.
  ArenaArray<EventStreamPart> parts;

  /// Returns whether a log exists and has all events.
  [[nodiscard]] bool complete() const noexcept { return count > 0 && missed == 0; }

  /// Calls `visit(const LoggedEvent&)` in sequence order (a k-way merge). Returns false without a
  /// call of `visit` if out of memory.
  template <class Visit>
  [[nodiscard]] bool for_each(Visit&& visit) const {
    ArenaArray<EventStreamReader> readers;
    if (!begin(readers)) return false;
    while (!readers.empty()) {
      std::pop_heap(readers.begin(), readers.end(), &comes_later);
      // Visits consecutive events of one thread without heap operations.
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
