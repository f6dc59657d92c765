/// A report read from a recording.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "alloctap/dump/record_events.hpp"
#include "alloctap/dump/record_fields.hpp"
#include "alloctap/dump/record_misuses.hpp"
#include "alloctap/dump/record_numbers.hpp"
#include "alloctap/dump/record_reader.hpp"
#include "alloctap/dump/report.hpp"
#include "alloctap/dump/saved_game_frames.hpp"
#include "alloctap/dump/saved_modules.hpp"
#include "alloctap/dump/saved_owners.hpp"
#include "alloctap/dump/saved_pools.hpp"
#include "alloctap/dump/saved_stacks.hpp"
#include "alloctap/dump/saved_symbols.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// Everything that `RecordDump` wrote, as input for any dump policy. Stacks have new ids, in the
/// order of their recorded ids. Control plane; not thread-safe. Only one `SavedReport` may be in
/// use at a time. Uses arena memory, but the tables of stacks and tags are on the program's heap.
class SavedReport {
 public:
  /// Reads `record`, which must outlive this object. On an error, the status describes the error
  /// and the report keeps what was read before. Call it once.
  [[nodiscard]] Status read(std::string_view record) {
    snapshot_.account.unmatched_frees.reset();
    RecordReader reader(record);
    if (Status status = reader.open(); !status.ok()) return status;
    while (reader.next_table()) {
      const Table* table = find_table(reader.table());
      while (table != nullptr && reader.next_row()) (this->*table->add)(reader);
      while (game_.knows(reader.table()) && reader.next_row()) add_to_game(reader);
      while (pools_.knows(reader.table()) && reader.next_row()) add_to_pools(reader);
    }
    snapshot_.time_ns = sane_time(snapshot_.time_ns);
    snapshot_.peak.time_ns = sane_time(snapshot_.peak.time_ns);
    snapshot_.frames = game_.take();
    snapshot_.pools = pools_.take();
    if (!symbols_.finish() || !modules_.finish(stacks_) || !finish_events() ||
        !stacks_.complete() || !game_.complete() || !pools_.complete() || out_of_memory_) {
      return Status::resource_exhausted("needs more memory than the system has");
    }
    if (!reader.status().ok() || !damaged_) return reader.status();
    return Status::data_loss("is damaged: some of its rows refer to what is not there");
  }

  /// Returns a report that refers to this object.
  [[nodiscard]] Report report() {
    snapshot_.table = &stacks_.table();
    snapshot_.tags = owners_.tags();
    symbols_.use(modules_.table());
    return {.snapshot = snapshot_,
            .modules = modules_.table(),
            .program = program_,
            .backend = backend_,
            .symbolize = &SavedSymbols::symbolize};
  }

 private:
  struct Table {
    std::string_view name;
    void (SavedReport::*add)(const RecordReader&);
  };

  static const Table* find_table(std::string_view name) noexcept {
    static constexpr Table kTables[] = {
        {"texts", &SavedReport::add_text},         {"numbers", &SavedReport::add_number},
        {"modules", &SavedReport::add_module},     {"frames", &SavedReport::add_frame},
        {"functions", &SavedReport::add_function}, {"stacks", &SavedReport::add_stack},
        {"tags", &SavedReport::add_tag},           {"allocations", &SavedReport::add_sums},
        {"mappings", &SavedReport::add_mapping},   {"peak", &SavedReport::add_peak},
        {"timeline", &SavedReport::add_point},     {"markers", &SavedReport::add_marker},
        {"threads", &SavedReport::add_thread},     {"sizes", &SavedReport::add_size},
        {"blocks", &SavedReport::add_block},       {"events", &SavedReport::add_event},
        {"misuses", &SavedReport::add_misuse},     {"freed", &SavedReport::add_given_back}};
    const auto* found = std::find_if(std::begin(kTables), std::end(kTables),
                                     [&](const Table& table) { return table.name == name; });
    return found == std::end(kTables) ? nullptr : found;
  }

  /// Adds the sums of a stack. Rows must ascend by stack id, without duplicates.
  template <class Sums>
  void keep_sums(ArenaArray<Sums>& array, const Sums& sums) noexcept {
    const bool in_order = array.empty() || array.back().stack < sums.stack;
    damaged_ = damaged_ || !in_order;
    if (in_order) keep(array, sums);
  }

  template <class Element>
  void keep(ArenaArray<Element>& array, const Element& element) noexcept {
    out_of_memory_ = !array.push_back(element) || out_of_memory_;
  }

  void add_text(const RecordReader& row) {
    const std::pair<std::string_view, std::string_view*> places[] = {
        {"executable", &program_.executable},
        {"command", &program_.command},
        {"hook", &backend_.hook},
        {"stack", &backend_.stack},
        {"symbolizer", &backend_.symbolizer},
        {"unseen", &backend_.blind_spots},
        {"sampling", &snapshot_.sampling.policy.name}};
    for (const auto& [key, place] : places) {
      if (row.text("key") == key) *place = row.text("value");
    }
  }

  void add_number(const RecordReader& row) {
    const std::string_view key = row.text("key");
    const std::uint64_t value = row.number("value");
    if (key == "tags") owners_.expect_tags();
    if (key == "pid") program_.pid = static_cast<std::int32_t>(value);
    if (key == "max_frames") backend_.max_frames = static_cast<std::uint32_t>(value);
    if (key == "events") events_.expect(value);
    visit_numbers(snapshot_, [&]<class Number>(const RecordKey& name, Number& number) {
      if (name == key) number = static_cast<Number>(value);
    });
  }

  void add_module(const RecordReader& row) {
    out_of_memory_ = !modules_.add(row) || out_of_memory_;
  }

  void add_frame(const RecordReader& row) {
    const std::uint64_t module = row.number("module");
    out_of_memory_ =
        !symbols_.add_frame(row.number("address"), modules_.is_unloaded(module) ? module : 0) ||
        out_of_memory_;
  }

  void add_function(const RecordReader& row) {
    const SourceFrame source{.function = row.text("function"),
                             .file = row.text("file"),
                             .line = static_cast<std::uint32_t>(row.number("line"))};
    damaged_ = !symbols_.add_function(row.number("frame"), source) || damaged_;
  }

  void add_stack(const RecordReader& row) {
    ArenaArray<std::uintptr_t> calls;
    for (const std::uint64_t frame : row.list("frames")) {
      if (frame >= symbols_.frames()) return static_cast<void>(damaged_ = true);
      keep(calls, symbols_.address(frame));
    }
    const std::uint64_t id = row.number("id");
    StackOwner owner;
    damaged_ = !owners_.read_owner(row, owner) || damaged_;
    if ((calls.empty() && owner.is_empty()) || id < kFirstStack) return;
    damaged_ = !stacks_.add(id, {calls.data(), calls.size()}, owner) || damaged_;
  }

  [[nodiscard]] StackId stack_of(const RecordReader& row,
                                 std::string_view column = "stack") noexcept {
    const std::optional<StackId> stack = stacks_.find(row.number(column));
    damaged_ = damaged_ || !stack;
    return stack.value_or(kUnknownStack);
  }

  /// Returns the stack in `column`, which may hold `kNoStackId`.
  [[nodiscard]] StackId stack_or_none(const RecordReader& row, std::string_view column) noexcept {
    return row.number(column) == kNoStackId ? kNoStackId : stack_of(row, column);
  }

  void add_sums(const RecordReader& row) {
    StackSummary stack = read_summary<StackSummary>(row);
    read_values(row, stack.unreachable);
    keep_sums(snapshot_.stacks, stack);
  }

  void add_mapping(const RecordReader& row) {
    keep_sums(snapshot_.mappings, read_summary<MappingSummary>(row));
  }

  void add_peak(const RecordReader& row) {
    keep_sums(snapshot_.peak.stacks, read_summary<PeakStackSummary>(row));
  }

  /// Reads a summary of one stack.
  template <class Summary>
  Summary read_summary(const RecordReader& row) noexcept {
    Summary summary{};
    summary.stack = stack_of(row);
    read_values(row, summary);
    return summary;
  }

  void add_point(const RecordReader& row) {
    TimelinePoint point;
    read_values(row, point);
    point.time_ns = sane_time(point.time_ns);
    keep(snapshot_.timeline, point);
  }

  void add_marker(const RecordReader& row) {
    keep(snapshot_.markers, {sane_time(row.signed_number("time_ns")), row.text("name")});
  }

  void add_thread(const RecordReader& row) { keep(snapshot_.threads, saved_thread(row)); }

  void add_tag(const RecordReader& row) {
    const bool known = owners_.add_tag(row);
    damaged_ = damaged_ || !known;
    const std::uint64_t overhead = row.number("overhead_bytes");
    if (!known || overhead == 0) return;
    const std::size_t end = owners_.tags_so_far();
    if (snapshot_.overheads.resize(end)) {
      snapshot_.overheads[end - 1] = overhead;
    } else {
      out_of_memory_ = true;
    }
  }

  void add_size(const RecordReader& row) {
    const std::uint64_t size_class = row.number("class");
    if (size_class >= kSizeClasses) return static_cast<void>(damaged_ = true);
    read_values(row, snapshot_.sizes[size_class]);
  }

  void add_block(const RecordReader& row) {
    const LiveBlock block{row.number("address"), row.number("size"), stack_of(row),
                          static_cast<std::int64_t>(row.number("age") - 1)};
    const bool known = has_allocated(snapshot_, block.stack);
    damaged_ = damaged_ || !known;
    if (known) keep(snapshot_.blocks, block);
  }

  void add_misuse(const RecordReader& row) {
    const auto stack = [&](std::string_view column) { return stack_or_none(row, column); };
    CountedMisuse counted;
    const bool known = MisuseRow(row, stack).read(counted);
    damaged_ = damaged_ || !known;
    if (known) keep(snapshot_.misuses, counted);
  }

  void add_to_game(const RecordReader& row) {
    const auto stack = [&](std::string_view column) { return stack_or_none(row, column); };
    damaged_ = !game_.read(row, stack, owners_) || damaged_;
  }

  void add_to_pools(const RecordReader& row) {
    const StackId stack = row.table() == "pool stacks" ? stack_of(row) : kNoStackId;
    damaged_ = !pools_.read(row, stack) || damaged_;
  }

  void add_given_back(const RecordReader& row) {
    const std::uint64_t thread = row.number("thread");
    const FreesByThread freed{stack_of(row), static_cast<std::uint32_t>(thread),
                              row.number("blocks"), row.number("bytes")};
    const bool known = thread < snapshot_.threads.size() && has_allocated(snapshot_, freed.stack);
    damaged_ = damaged_ || !known;
    if (known) keep(snapshot_.freed.blocks, freed);
  }

  /// Adds an event. Drops events after the first invalid row, to keep a prefix of the recorded log.
  void add_event(const RecordReader& row) {
    LoggedEvent event = events_.read(row);
    if (event.adds_block()) event.stack = stack_of(row);
    const bool sound = !damaged_ && events_.can_be(event) &&
                       (!event.adds_block() || has_allocated(snapshot_, event.stack));
    damaged_ = !sound;
    if (sound) out_of_memory_ = !events_.add(event) || out_of_memory_;
  }

  [[nodiscard]] bool finish_events() noexcept {
    const bool finished = events_.finish(snapshot_.account.unlogged_events, snapshot_.events);
    snapshot_.account.unlogged_events = snapshot_.events.missed;
    return finished;
  }

  Snapshot snapshot_;
  SavedModules modules_;
  ProgramInfo program_;
  BackendInfo backend_;
  SavedSymbols symbols_;
  SavedOwners owners_;
  SavedEvents events_;
  SavedStacks stacks_;
  SavedGameFrames game_;
  SavedPools pools_;
  bool damaged_ = false;
  bool out_of_memory_ = false;
};

}  // namespace alloctap
