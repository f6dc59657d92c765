/// The event log as a table of a recording.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "alloctap/dump/record_reader.hpp"
#include "alloctap/dump/record_writer.hpp"
#include "alloctap/event/logged_event.hpp"
#include "alloctap/queue/event_stream.hpp"
#include "alloctap/queue/logged_events.hpp"
#include "alloctap/snapshot/snapshot.hpp"

namespace alloctap {

/// Writes the table "events": the members of `LoggedEvent` in order, `LoggedKind` as a number.
/// Addresses and times are differences from the previous row; the first row's differences are from
/// 0. Frees have no size or stack. Without a log, writes no table. Returns false if out of memory.
[[nodiscard]] inline bool write_events(RecordWriter& record, const LoggedEvents& events) {
  using enum RecordKind;
  if (events.count == 0) return true;
  record.begin_table("events", {{kNumber, "kind"},
                                {kNumber, "thread"},
                                {kSigned, "address_step"},
                                {kNumber, "size"},
                                {kNumber, "stack"},
                                {kSigned, "time_step_ns"}});
  LoggedEvent before = kBeforeFirstEvent;
  const bool complete = events.for_each([&](const LoggedEvent& event) {
    record.row(static_cast<std::uint64_t>(event.kind), event.thread,
               static_cast<std::int64_t>(event.address - before.address), event.size, event.stack,
               event.time_ns - before.time_ns);
    before = event;
  });
  record.end_table();
  return complete;
}

/// Returns whether `snapshot` has a summary of the stack `sought`.
[[nodiscard]] inline bool has_allocated(const Snapshot& snapshot, StackId sought) noexcept {
  const auto& stacks = snapshot.stacks;
  const auto* found =
      std::partition_point(stacks.begin(), stacks.end(),
                           [&](const StackSummary& stack) { return stack.stack < sought; });
  return found != stacks.end() && found->stack == sought;
}

/// Event log that was read from a recording. Uses arena memory.
class SavedEvents {
 public:
  SavedEvents() noexcept = default;
  SavedEvents(const SavedEvents&) = delete;
  SavedEvents& operator=(const SavedEvents&) = delete;
  ~SavedEvents() { stream_.release(); }

  /// Sets the number of events that the recording claims to have.
  void expect(std::uint64_t count) noexcept { expected_ = count; }

  /// Returns the row's event without its stack. Rows contain differences: read rows in order.
  [[nodiscard]] LoggedEvent read(const RecordReader& row) const noexcept {
    const auto step = static_cast<std::uint64_t>(row.signed_number("time_step_ns"));
    return {
        .sequence = count_,
        .kind = static_cast<LoggedKind>(std::min(row.number("kind"), kNoKind)),
        .thread = static_cast<std::uint32_t>(std::min(row.number("thread"), kNoThread)),
        .address = before_.address + static_cast<std::uint64_t>(row.signed_number("address_step")),
        .size = row.number("size"),
        .time_ns = static_cast<std::int64_t>(static_cast<std::uint64_t>(before_.time_ns) + step)};
  }

  /// Returns whether a log could contain `event`. Thread numbers ascend in the order of the
  /// threads' first events, but may have gaps.
  [[nodiscard]] bool can_be(const LoggedEvent& event) const noexcept {
    constexpr std::uint64_t kThreadsAtOnce = 1 << 16;
    constexpr std::int64_t kLatest = std::int64_t{1} << 61;
    return event.kind <= LoggedKind::kPutBack && event.thread <= count_ + kThreadsAtOnce &&
           event.time_ns >= 0 && event.time_ns < kLatest && count_ < expected_;
  }

  /// Returns false if out of memory.
  [[nodiscard]] bool add(const LoggedEvent& event) noexcept {
    if (!stream_.has_room() && !stream_.grow()) return false;
    stream_.append(event);
    before_ = event;
    ++count_;
    return true;
  }

  /// Fills `events` with references to this object. Call it after the last `add`. `unlogged` is the
  /// number of events that the log lacked when it was recorded. Returns false if out of memory.
  [[nodiscard]] bool finish(std::uint64_t unlogged, LoggedEvents& events) const noexcept {
    constexpr auto kMaxCount = std::numeric_limits<std::uint64_t>::max();
    const std::uint64_t lost = expected_ - count_;
    events.count = count_;
    events.missed = unlogged > kMaxCount - lost ? kMaxCount : unlogged + lost;
    return count_ == 0 || events.parts.push_back(stream_.all());
  }

 private:
  static constexpr std::uint64_t kNoKind = 0xFF;
  static constexpr std::uint64_t kNoThread = 0xFFFF'FFFF;

  EventStream stream_;
  LoggedEvent before_ = kBeforeFirstEvent;
  std::uint64_t count_ = 0;
  std::uint64_t expected_ = 0;
};

}  // namespace alloctap
