/// The contents of an event log at one moment.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>

#include "alloctap/queue/event_stream.hpp"
#include "alloctap/runtime/arena_array.hpp"

namespace alloctap {

/// The first `count` events of a log, as parts of the streams of its threads. Points into the log.
/// Arena memory. Move-only.
class LoggedEvents {
 public:
  /// The number of events.
  std::uint64_t count = 0;
  /// The number of events that came after the log was full.
  std::uint64_t missed = 0;
  /// One per stream, unordered. Together they have each sequence number below `count` exactly once;
  /// higher ones are ignored.
  ArenaArray<EventStreamPart> parts;

  /// Whether a log exists and lacks no event.
  [[nodiscard]] bool complete() const noexcept { return count > 0 && missed == 0; }

  /// Calls `visit(const LoggedEvent&)` in sequence order (a k-way merge). Returns false, after
  /// visiting none, if out of memory.
  template <class Visit>
  [[nodiscard]] bool for_each(Visit&& visit) const {
    ArenaArray<EventStreamReader> readers;
    if (!begin(readers)) return false;
    while (!readers.empty()) {
      std::pop_heap(readers.begin(), readers.end(), &comes_later);
      // Avoids heap operations while one thread has consecutive events.
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
