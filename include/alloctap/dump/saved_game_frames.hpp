/// Game frames and budgets, read from a recording.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "alloctap/dump/record_numbers.hpp"
#include "alloctap/dump/record_reader.hpp"
#include "alloctap/dump/saved_owners.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/frame_history.hpp"

namespace alloctap {

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
    [[nodiscard]] FrameCounts counts() const noexcept {
      return {.allocations = number("allocations"),
              .allocated_bytes = number("allocated_bytes"),
              .deallocations = number("deallocations"),
              .freed_bytes = number("freed_bytes"),
              .allocator_ns = number("allocator_ns")};
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
    history_.frames = row.number("frames");
    history_.refused_marks = row.number("refused_marks");
    history_.marking_thread_changes = row.number("marking_thread_changes");
    history_.lost_events = row.number("lost_events");
    history_.forgotten_offences = row.number("forgotten_offences");
    return true;
  }

  bool add_tag(const Row& row) {
    if (!row.has_tag("tag") && row.number("tag") != kOtherTags) return false;
    return keep(history_.tags, {.tag = row.tag("tag"),
                                .counts = row.counts(),
                                .held_bytes = row.number("held_bytes"),
                                .peak_bytes = row.number("peak_bytes")});
  }

  bool add_frame(const Row& row) {
    const std::size_t known = history_.tags.size();
    const std::uint64_t first = row.number("first_tag");
    if (first > known || row.number("tags") > known - first) return false;
    return keep(history_.last, {.number = row.number("number"),
                                .begin_ns = row.time("begin_ns"),
                                .duration_ns = row.time("duration_ns"),
                                .counts = row.counts(),
                                .held_bytes = row.number("held_bytes"),
                                .peak_bytes = row.number("peak_bytes"),
                                .first_tag = row.small("first_tag"),
                                .tag_count = row.small("tags")});
  }

  bool add_class(const Row& row) {
    const std::optional<FrameMeasure> measure = row.measure();
    if (!measure || row.number("class") >= FrameHistogram().size()) return false;
    history_.histograms[static_cast<std::size_t>(*measure)][row.number("class")] =
        row.number("frames");
    return true;
  }

  static StackOfFrame amounts(const Row& row, StackId stack) noexcept {
    return {.stack = stack,
            .allocations = row.number("allocations"),
            .allocated_bytes = row.number("allocated_bytes"),
            .allocator_ns = row.number("allocator_ns")};
  }

  bool add_worst(const Row& row) {
    const std::optional<FrameMeasure> measure = row.measure();
    const auto call = row.named("slowest_call.call", kAllAllocatorCalls);
    if (!measure || !call || !row.has_tag("slowest_call.tag")) return false;
    return keep(history_.worst[static_cast<std::size_t>(*measure)],
                {.number = row.number("number"),
                 .begin_ns = row.time("begin_ns"),
                 .duration_ns = row.time("duration_ns"),
                 .counts = row.counts(),
                 .slowest = slowest(row, *call),
                 .other_stacks = {.allocations = row.number("other_stacks.allocations"),
                                  .allocated_bytes = row.number("other_stacks.allocated_bytes"),
                                  .allocator_ns = row.number("other_stacks.allocator_ns")}});
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
    frame.stacks[frame.stack_count++] = amounts(row, row.stack);
    return true;
  }

  /// Adds a limit of a budget. Rows of one budget are adjacent.
  bool add_limit(const Row& row) {
    const std::optional<BudgetKind> kind = row.named("kind", kAllBudgetKinds);
    if (!kind || !row.has_tag("tag")) return false;
    const bool is_first = *kind == kAllBudgetKinds.front() || history_.budgets.empty();
    if (is_first) keep(history_.budgets, {.tag = row.tag("tag")});
    if (history_.budgets.empty()) return true;
    history_.budgets.back().limits[static_cast<std::size_t>(*kind)] = {
        .limit = row.number("limit"),
        .value = row.number("value"),
        .most = row.number("most"),
        .offences = row.number("offences")};
    return true;
  }

  bool add_offence(const Row& row) {
    const std::optional<BudgetKind> kind = row.named("kind", kAllBudgetKinds);
    if (!kind || !row.has_tag("tag")) return false;
    return keep(history_.offences, {.tag = row.tag("tag"),
                                    .kind = *kind,
                                    .limit = row.number("limit"),
                                    .value = row.number("value"),
                                    .stack = row.stack,
                                    .frame = row.number("frame"),
                                    .time_ns = row.time("time_ns"),
                                    .tag_name = row.owners.name(row.tag("tag"))});
  }

  FrameHistory history_;
  bool complete_ = true;
};

}  // namespace alloctap
