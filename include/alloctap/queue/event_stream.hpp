/// The encoded events of one thread, in chunks of the arena.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "alloctap/event/logged_event.hpp"
#include "alloctap/queue/event_coding.hpp"
#include "alloctap/runtime/arena.hpp"

namespace alloctap {

/// An arena block of encoded events; no event spans two chunks.
struct EventChunk {
  static constexpr std::size_t kBytes = 16 * 1024;

  EventChunk* next = nullptr;
  /// Bytes of events, without this header.
  std::size_t used = 0;

  [[nodiscard]] std::byte* begin() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
  [[nodiscard]] const std::byte* begin() const noexcept {
    return reinterpret_cast<const std::byte*>(this + 1);
  }
  [[nodiscard]] bool has_room() const noexcept {
    return used + EventCoding::kMaxBytes <= kBytes - sizeof(EventChunk);
  }
};

/// The contents of a stream at one moment; readable while the stream grows.
struct EventStreamPart {
  const EventChunk* first = nullptr;
  const EventChunk* last = nullptr;
  /// The used bytes of the last chunk.
  std::size_t used = 0;
};

/// An append-only stream. One thread at a time; may run inside malloc. Trivially destructible: the
/// owner calls `release` to free the memory.
class EventStream {
 public:
  /// Whether `append` may be called; otherwise call `grow`.
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

  /// Appends an event with a higher sequence than the last. Precondition: `has_room()`.
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

/// Iterates over a part of a stream.
class EventStreamReader {
 public:
  explicit EventStreamReader(const EventStreamPart& part) noexcept
      : chunk_(part.first), part_(part) {}

  /// Advances to the next event. Returns false after the last.
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
  /// The stream's thread may be writing behind the used bytes of the last chunk.
  [[nodiscard]] std::size_t used() const noexcept {
    return chunk_ == part_.last ? part_.used : chunk_->used;
  }

  const EventChunk* chunk_;
  EventStreamPart part_;
  std::size_t at_ = 0;
  LoggedEvent event_ = kBeforeFirstEvent;
};

}  // namespace alloctap
