/// Encoded events of one thread, and the contents of a log at one moment.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "alloctap/event/logged_event.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/runtime/arena_array.hpp"

namespace alloctap {

/// The event encoding: a flags byte, then unsigned LEB128 numbers (DWARF 5, 7.6). The numbers are
/// the thread number (if changed), the increments of sequence (if not 1) and time (if not 0), and
/// the zigzag-coded difference of addresses. If a block becomes live, its size and stack follow. An
/// allocation takes about 7 bytes, a free 4. May run inside malloc.
class EventCoding {
 public:
  /// The maximum size of an encoded event.
  static constexpr std::size_t kMaxBytes = 64;

  /// Writes `event` to `to`; `before` is the previous event. Returns the end of the written bytes.
  ALLOCTAP_ALWAYS_INLINE static std::byte* encode(const LoggedEvent& event,
                                                  const LoggedEvent& before,
                                                  std::byte* to) noexcept {
    std::byte& flags = *to++;
    auto bits = static_cast<unsigned>(event.kind);
    const auto add_if = [&](unsigned flag, bool changed, std::uint64_t number) {
      if (!changed) return;
      bits |= flag;
      to = write(number, to);
    };
    add_if(kOtherThread, event.thread != before.thread, event.thread);
    add_if(kOtherStep, event.sequence != before.sequence + 1, event.sequence - before.sequence);
    add_if(kOtherTime, event.time_ns != before.time_ns, step(event.time_ns, before.time_ns));
    to = write(
        step(static_cast<std::int64_t>(event.address), static_cast<std::int64_t>(before.address)),
        to);
    if (event.adds_block()) to = write(event.stack, write(event.size, to));
    flags = static_cast<std::byte>(bits);
    return to;
  }

  /// Decodes the event at `from` into `event`, which must hold the previous event. Returns the end
  /// of the read bytes.
  static const std::byte* decode(const std::byte* from, LoggedEvent& event) noexcept {
    const auto bits = static_cast<unsigned>(*from++);
    event.kind = static_cast<LoggedKind>(bits & kKind);
    const auto number_if = [&](unsigned flag, std::uint64_t otherwise) {
      return (bits & flag) != 0 ? read(from) : otherwise;
    };
    event.thread = static_cast<std::uint32_t>(number_if(kOtherThread, event.thread));
    event.sequence += number_if(kOtherStep, 1);
    event.time_ns = after(event.time_ns, number_if(kOtherTime, 0));
    event.address =
        static_cast<std::uintptr_t>(after(static_cast<std::int64_t>(event.address), read(from)));
    event.size = event.adds_block() ? read(from) : 0;
    event.stack = event.adds_block() ? static_cast<StackId>(read(from)) : kNoStackId;
    return from;
  }

 private:
  enum Flags : unsigned { kKind = 3, kOtherThread = 4, kOtherStep = 8, kOtherTime = 16 };

  /// Zigzag-codes the difference of two numbers, which may wrap around.
  static constexpr std::uint64_t step(std::int64_t now, std::int64_t before) noexcept {
    const std::uint64_t difference =
        static_cast<std::uint64_t>(now) - static_cast<std::uint64_t>(before);
    return difference << 1 ^ (0 - (difference >> 63));
  }
  static constexpr std::int64_t after(std::int64_t before, std::uint64_t step) noexcept {
    const std::uint64_t difference = step >> 1 ^ (0 - (step & 1));
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(before) + difference);
  }

  ALLOCTAP_ALWAYS_INLINE static std::byte* write(std::uint64_t number, std::byte* to) noexcept {
    for (; number >= 0x80; number >>= 7) *to++ = static_cast<std::byte>(number | 0x80);
    *to++ = static_cast<std::byte>(number);
    return to;
  }

  static std::uint64_t read(const std::byte*& from) noexcept {
    std::uint64_t number = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = static_cast<std::uint64_t>(*from++);
      number |= (byte & 0x7F) << shift;
      if (byte < 0x80) return number;
    }
  }
};

/// An arena block of encoded events. Each event is completely in one chunk.
struct EventChunk {
  static constexpr std::size_t kBytes = 16 * 1024;

  EventChunk* next = nullptr;
  /// The size of the events in bytes, without this header.
  std::size_t used = 0;

  [[nodiscard]] std::byte* begin() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
  [[nodiscard]] const std::byte* begin() const noexcept {
    return reinterpret_cast<const std::byte*>(this + 1);
  }
  [[nodiscard]] bool has_room() const noexcept {
    return used + EventCoding::kMaxBytes <= kBytes - sizeof(EventChunk);
  }
};

/// The contents of a stream at one moment. Stays readable while the stream grows.
struct EventStreamPart {
  const EventChunk* first = nullptr;
  const EventChunk* last = nullptr;
  /// The number of used bytes of the last chunk.
  std::size_t used = 0;
};

/// An append-only stream of encoded events in arena memory. Used by one thread at a time; may run
/// inside malloc. Trivially destructible: the owner must call `release` to free the memory.
class EventStream {
 public:
  /// Returns whether `append` may be called. If not, `grow` must be called first.
  [[nodiscard]] bool has_room() const noexcept { return last_ != nullptr && last_->has_room(); }

  /// Adds a chunk of `EventChunk::kBytes`. Returns false if out of memory.
  [[nodiscard]] bool grow() noexcept {
    void* memory = Arena::allocate(EventChunk::kBytes);
    if (memory == nullptr) return false;
    auto* chunk = ::new (memory) EventChunk;
    (last_ == nullptr ? first_ : last_->next) = chunk;
    last_ = chunk;
    return true;
  }

  /// Appends an event, whose sequence must exceed the last event's. Precondition: `has_room()`.
  void append(const LoggedEvent& event) noexcept {
    const std::byte* end = EventCoding::encode(event, newest_, last_->begin() + last_->used);
    last_->used = static_cast<std::size_t>(end - last_->begin());
    newest_ = event;
  }

  [[nodiscard]] EventStreamPart all() const noexcept {
    return {first_, last_, last_ == nullptr ? 0 : last_->used};
  }

  void release() noexcept {
    while (first_ != nullptr) {
      Arena::deallocate(std::exchange(first_, first_->next), EventChunk::kBytes);
    }
    *this = EventStream();
  }

 private:
  EventChunk* first_ = nullptr;
  EventChunk* last_ = nullptr;
  LoggedEvent newest_ = kBeforeFirstEvent;
};

/// Iterates over the events of an `EventStreamPart`.
class EventStreamReader {
 public:
  explicit EventStreamReader(const EventStreamPart& part) noexcept
      : chunk_(part.first), part_(part) {}

  /// Advances to the next event. Returns false if no event is left.
  [[nodiscard]] bool next() noexcept {
    while (chunk_ != nullptr && at_ == used()) {
      chunk_ = chunk_ == part_.last ? nullptr : chunk_->next;
      at_ = 0;
    }
    if (chunk_ == nullptr) return false;
    const std::byte* end = EventCoding::decode(chunk_->begin() + at_, event_);
    at_ = static_cast<std::size_t>(end - chunk_->begin());
    return true;
  }

  /// Precondition: `next` has returned true.
  [[nodiscard]] const LoggedEvent& event() const noexcept { return event_; }

 private:
  /// Reads the last chunk's size from `part_`, because the stream's thread may be appending to it.
  [[nodiscard]] std::size_t used() const noexcept {
    return chunk_ == part_.last ? part_.used : chunk_->used;
  }

  const EventChunk* chunk_;
  EventStreamPart part_;
  std::size_t at_ = 0;
  LoggedEvent event_ = kBeforeFirstEvent;
};

/// The contents of a log at one moment: references to its first `count` events, which the log owns.
/// The array `parts` is arena memory. Move-only.
class LoggedEvents {
 public:
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
