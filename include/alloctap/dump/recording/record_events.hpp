/// Writers and readers of a recording's tables of logged events, game frames and budgets.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "alloctap/dump/recording/record_format.hpp"
#include "alloctap/dump/recording/record_tables.hpp"
#include "alloctap/event/logged_event.hpp"
#include "alloctap/queue/event_stream.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/frame_history.hpp"
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

/// Writer of a `FrameHistory` as tables "game ...", which `SavedGameFrames` reads. Writes nothing
/// if the tracker does not observe game frames. Writes kinds and measures as the names that schema
/// alloctap.heap/1 has for them. Stacks and tags are ids; `kNoStackId` means no stack. All
/// arguments must outlive this object.
class RecordGameFrames {
 public:
  RecordGameFrames(RecordWriter& record, const FrameHistory& history) noexcept
      : record_(record), history_(history) {}

  void write() {
    if (!history_.known) return;
    record_.begin_table("game", {}, kFieldColumns<FrameTotals>);
    record_.begin_row();
    write_values<FrameTotals>(record_, history_);
    record_.end_table();
    write_tags();
    write_frames();
    write_histograms();
    write_worst();
    write_stacks_of_worst();
    write_budgets();
    write_offences();
  }

 private:
  using enum RecordKind;

  /// Writes "game tags", in which each row of "game frames" has a range of rows.
  void write_tags() {
    record_.begin_table("game tags", {{kNumber, "tag"}}, kFieldColumns<TagOfFrame>);
    for (const TagOfFrame& tag : history_.tags) {
      record_.row(tag.tag);
      write_values(record_, tag);
    }
    record_.end_table();
  }

  void write_frames() {
    record_.begin_table("game frames", {{kNumber, "first_tag"}, {kNumber, "tags"}},
                        kFieldColumns<FrameSummary>);
    for (const FrameSummary& frame : history_.last) {
      record_.row(frame.first_tag, frame.tag_count);
      write_values(record_, frame);
    }
    record_.end_table();
  }

  void write_histograms() {
    record_.begin_table("game histograms",
                        {{kText, "measure"}, {kNumber, "class"}, {kNumber, "frames"}});
    for (const FrameMeasure measure : kAllFrameMeasures) {
      const FrameHistogram& histogram = history_.histograms[static_cast<std::size_t>(measure)];
      for (std::size_t i = 0; i < histogram.size(); ++i) {
        if (histogram[i] > 0) record_.row(name_of(measure), i, histogram[i]);
      }
    }
    record_.end_table();
  }

  template <class Visit>
  void for_each_worst(Visit&& visit) const {
    for (const FrameMeasure measure : kAllFrameMeasures) {
      const auto& list = history_.worst[static_cast<std::size_t>(measure)];
      for (std::size_t i = 0; i < list.size(); ++i) visit(measure, i, list[i]);
    }
  }

  /// Writes frames by measure, worst first. `slowest_call.duration_ns` is 0 if no call was timed.
  void write_worst() {
    record_.begin_table("game worst", {{kText, "measure"}}, kFieldColumns<WorstFrame>,
                        {{kNumber, "other_stacks.allocations"},
                         {kNumber, "other_stacks.allocated_bytes"},
                         {kNumber, "other_stacks.allocator_ns"},
                         {kSigned, "slowest_call.duration_ns"},
                         {kNumber, "slowest_call.bytes"},
                         {kNumber, "slowest_call.stack"},
                         {kNumber, "slowest_call.tag"},
                         {kText, "slowest_call.call"},
                         {kNumber, "slowest_call.has_usage"},
                         {kNumber, "slowest_call.page_faults"},
                         {kNumber, "slowest_call.waits"},
                         {kNumber, "slowest_call.preemptions"}});
    for_each_worst([this](FrameMeasure measure, std::size_t, const WorstFrame& frame) {
      record_.row(name_of(measure));
      write_values(record_, frame);
      write_values(record_, frame.other_stacks);
      const auto write_call = [this](const auto&... values) { (record_.value(values), ...); };
      const SlowCall& call = frame.slowest;
      write_call(call.duration_ns, call.bytes, call.stack, call.tag, name_of(call.call),
                 call.has_usage, call.page_faults, call.waits, call.preemptions);
    });
    record_.end_table();
  }

  /// Writes the stacks of the worst frames; `place` is a frame's index in the measure's list.
  void write_stacks_of_worst() {
    record_.begin_table("game stacks", {{kText, "measure"}, {kNumber, "place"}, {kNumber, "stack"}},
                        kFieldColumns<StackOfFrame>);
    for_each_worst([this](FrameMeasure measure, std::size_t place, const WorstFrame& frame) {
      for (const StackOfFrame& stack : std::span(frame.stacks).first(frame.stack_count)) {
        record_.row(name_of(measure), place, stack.stack);
        write_values(record_, stack);
      }
    });
    record_.end_table();
  }

  /// Writes one row for each limit of each budget.
  void write_budgets() {
    record_.begin_table("game budgets", {{kNumber, "tag"}, {kText, "kind"}},
                        kFieldColumns<LimitSummary>);
    for (const BudgetSummary& budget : history_.budgets) {
      for (const BudgetKind kind : kAllBudgetKinds) {
        record_.row(budget.tag, name_of(kind));
        write_values(record_, budget.limits[static_cast<std::size_t>(kind)]);
      }
    }
    record_.end_table();
  }

  void write_offences() {
    record_.begin_table("game offences", {{kNumber, "tag"}, {kText, "kind"}, {kNumber, "stack"}},
                        kFieldColumns<BudgetOffence>);
    for (const BudgetOffence& offence : history_.offences) {
      record_.row(offence.tag, name_of(offence.kind), offence.stack);
      write_values(record_, offence);
    }
    record_.end_table();
  }

  RecordWriter& record_;
  const FrameHistory& history_;
};

/// Reader of the tables that `RecordGameFrames` writes. Uses arena memory. Not thread-safe.
class SavedGameFrames {
 public:
  [[nodiscard]] static bool knows(std::string_view table) noexcept {
    return find_table(table) != nullptr;
  }

  /// Adds a row of a "game" table. Returns false without adding anything if the row is invalid.
  /// `stack_of(column)` returns the stack in a column of the row.
  template <class StackOf>
  [[nodiscard]] bool read(const RecordReader& row, StackOf stack_of, const SavedOwners& owners) {
    // `stack_of` returns no stack if the table has no such column.
    const StackId stack = stack_of(row.table() == "game worst" ? "slowest_call.stack" : "stack");
    const Table* table = find_table(row.table());
    return table != nullptr && (this->*table->add)({row, stack, owners});
  }

  /// Returns false if out of memory.
  [[nodiscard]] bool complete() const noexcept { return complete_; }

  /// Returns the history that was read. Call it once.
  [[nodiscard]] FrameHistory take() noexcept { return std::move(history_); }

 private:
  struct Row {
    const RecordReader& row;
    StackId stack;
    const SavedOwners& owners;

    [[nodiscard]] std::uint64_t number(std::string_view column) const noexcept {
      return row.number(column);
    }
    [[nodiscard]] std::uint32_t small(std::string_view column) const noexcept {
      return static_cast<std::uint32_t>(std::min<std::uint64_t>(row.number(column), ~0U));
    }
    [[nodiscard]] std::int64_t time(std::string_view column) const noexcept {
      return sane_time(row.signed_number(column));
    }
    [[nodiscard]] bool has_tag(std::string_view column) const noexcept {
      return owners.knows(row.number(column));
    }
    [[nodiscard]] TagId tag(std::string_view column) const noexcept {
      return static_cast<TagId>(row.number(column));
    }
    /// Sets the fields of `summary`, and returns it.
    template <class Summary>
    [[nodiscard]] Summary with_values(Summary summary) const noexcept {
      read_values(row, summary);
      return summary;
    }
    /// Returns the element of `all` whose name `column` holds; nullopt if unknown.
    template <class List>
    [[nodiscard]] std::optional<typename List::value_type> named(std::string_view column,
                                                                 const List& all) const noexcept {
      const auto* found = std::find_if(all.begin(), all.end(),
                                       [&](auto one) { return name_of(one) == row.text(column); });
      if (found == all.end()) return std::nullopt;
      return *found;
    }
    [[nodiscard]] std::optional<FrameMeasure> measure() const noexcept {
      return named("measure", kAllFrameMeasures);
    }
  };

  struct Table {
    std::string_view name;
    bool (SavedGameFrames::*add)(const Row&);
  };

  static const Table* find_table(std::string_view name) noexcept {
    static constexpr Table kTables[] = {{"game", &SavedGameFrames::add_sums},
                                        {"game tags", &SavedGameFrames::add_tag},
                                        {"game frames", &SavedGameFrames::add_frame},
                                        {"game histograms", &SavedGameFrames::add_class},
                                        {"game worst", &SavedGameFrames::add_worst},
                                        {"game stacks", &SavedGameFrames::add_stack},
                                        {"game budgets", &SavedGameFrames::add_limit},
                                        {"game offences", &SavedGameFrames::add_offence}};
    const auto* found = std::find_if(std::begin(kTables), std::end(kTables),
                                     [&](const Table& table) { return table.name == name; });
    return found == std::end(kTables) ? nullptr : found;
  }

  template <class Element>
  bool keep(ArenaArray<Element>& array, const Element& element) noexcept {
    complete_ = array.push_back(element) && complete_;
    return true;
  }

  bool add_sums(const Row& row) {
    history_.known = true;
    read_values<FrameTotals>(row.row, history_);
    return true;
  }

  bool add_tag(const Row& row) {
    if (!row.has_tag("tag") && row.number("tag") != kOtherTags) return false;
    return keep(history_.tags, row.with_values(TagOfFrame{.tag = row.tag("tag")}));
  }

  bool add_frame(const Row& row) {
    const std::size_t known = history_.tags.size();
    const std::uint64_t first = row.number("first_tag");
    if (first > known || row.number("tags") > known - first) return false;
    return keep(history_.last, row.with_values(FrameSummary{.first_tag = row.small("first_tag"),
                                                            .tag_count = row.small("tags")}));
  }

  bool add_class(const Row& row) {
    const std::optional<FrameMeasure> measure = row.measure();
    if (!measure || row.number("class") >= FrameHistogram().size()) return false;
    history_.histograms[static_cast<std::size_t>(*measure)][row.number("class")] =
        row.number("frames");
    return true;
  }

  bool add_worst(const Row& row) {
    const std::optional<FrameMeasure> measure = row.measure();
    const auto call = row.named("slowest_call.call", kAllAllocatorCalls);
    if (!measure || !call || !row.has_tag("slowest_call.tag")) return false;
    return keep(history_.worst[static_cast<std::size_t>(*measure)],
                row.with_values(WorstFrame{
                    .slowest = slowest(row, *call),
                    .other_stacks = {.allocations = row.number("other_stacks.allocations"),
                                     .allocated_bytes = row.number("other_stacks.allocated_bytes"),
                                     .allocator_ns = row.number("other_stacks.allocator_ns")}}));
  }

  static SlowCall slowest(const Row& row, AllocatorCall call) noexcept {
    return {.duration_ns = row.time("slowest_call.duration_ns"),
            .bytes = row.number("slowest_call.bytes"),
            .stack = row.stack,
            .tag = row.tag("slowest_call.tag"),
            .call = call,
            .has_usage = row.number("slowest_call.has_usage") != 0,
            .page_faults = row.small("slowest_call.page_faults"),
            .waits = row.small("slowest_call.waits"),
            .preemptions = row.small("slowest_call.preemptions")};
  }

  bool add_stack(const Row& row) {
    const std::optional<FrameMeasure> measure = row.measure();
    if (!measure) return false;
    ArenaArray<WorstFrame>& list = history_.worst[static_cast<std::size_t>(*measure)];
    const std::uint64_t place = row.number("place");
    if (place >= list.size() || list[place].stack_count == WorstFrame::kMaxStacks) return false;
    WorstFrame& frame = list[place];
    frame.stacks[frame.stack_count++] = row.with_values(StackOfFrame{.stack = row.stack});
    return true;
  }

  /// Adds a limit of a budget. Rows of one budget are adjacent.
  bool add_limit(const Row& row) {
    const std::optional<BudgetKind> kind = row.named("kind", kAllBudgetKinds);
    if (!kind || !row.has_tag("tag")) return false;
    const bool is_first = *kind == kAllBudgetKinds.front() || history_.budgets.empty();
    if (is_first) keep(history_.budgets, {.tag = row.tag("tag")});
    if (history_.budgets.empty()) return true;
    read_values(row.row, history_.budgets.back().limits[static_cast<std::size_t>(*kind)]);
    return true;
  }

  bool add_offence(const Row& row) {
    const std::optional<BudgetKind> kind = row.named("kind", kAllBudgetKinds);
    if (!kind || !row.has_tag("tag")) return false;
    return keep(history_.offences,
                row.with_values(BudgetOffence{.tag = row.tag("tag"),
                                              .kind = *kind,
                                              .stack = row.stack,
                                              .tag_name = row.owners.name(row.tag("tag"))}));
  }

  FrameHistory history_;
  bool complete_ = true;
};

}  // namespace alloctap
