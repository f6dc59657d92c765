/// A report read from a recording, with its stacks, symbols and modules.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "alloctap/dump/dump_policy.hpp"
#include "alloctap/dump/recording/record_events.hpp"
#include "alloctap/dump/recording/record_format.hpp"
#include "alloctap/dump/recording/record_tables.hpp"
#include "alloctap/event/stack_identity.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/stack/stack_table.hpp"
#include "alloctap/status.hpp"
#include "alloctap/symbol/module_table.hpp"
#include "alloctap/symbol/symbolizer.hpp"

namespace alloctap {

/// Recorded stacks with new ids, in the order of their recorded ids. Not thread-safe.
class SavedStacks {
 public:
  /// Adds the stack with the recorded id `before`. Returns false without adding anything if
  /// `before` is not above all earlier ids. An earlier stack with equal owner and addresses ran
  /// through different modules; lookup by frames no longer finds that stack.
  [[nodiscard]] bool add(std::uint64_t before, std::span<const std::uintptr_t> calls,
                         const StackOwner& owner) {
    if (!renamed_.empty() && renamed_.back().before >= before) return false;
    const StackId known = table_->find(hash_frames(calls).owned_by(owner));
    if (known != kNoStackId) table_->retire(known);
    complete_ = renamed_.push_back({before, table_->intern(calls, owner)}) && complete_;
    return true;
  }

  /// Returns the new id of the stack with the recorded id `before`; nullopt if unknown. Ids of
  /// stacks without frames are constants and stay unchanged.
  [[nodiscard]] std::optional<StackId> find(std::uint64_t before) const noexcept {
    if (before == kUnknownStack || before == kStackNotTaken) return static_cast<StackId>(before);
    const Renamed* found = first_from(before);
    if (found == renamed_.end() || found->before != before) return std::nullopt;
    return found->now;
  }

  /// Returns the new id of the first stack whose recorded id is `before` or greater.
  [[nodiscard]] StackId id_from(std::uint64_t before) const noexcept {
    const Renamed* found = first_from(before);
    return found == renamed_.end() ? table_->end_id() : found->now;
  }

  [[nodiscard]] const StackTable& table() const noexcept { return *table_; }

  /// Returns false if out of memory.
  [[nodiscard]] bool complete() const noexcept { return complete_; }

 private:
  struct Renamed {
    std::uint64_t before = 0;
    StackId now = kNoStackId;
  };

  [[nodiscard]] const Renamed* first_from(std::uint64_t before) const noexcept {
    return std::lower_bound(renamed_.begin(), renamed_.end(), before,
                            [](const Renamed& one, std::uint64_t id) { return one.before < id; });
  }

  std::unique_ptr<StackTable> table_ = std::make_unique<StackTable>();
  /// Sorted by recorded id.
  ArenaArray<Renamed> renamed_;
  bool complete_ = true;
};

/// Return addresses and the functions at them. Strings belong to the caller and must outlive this
/// object. Uses arena memory. Not thread-safe.
class SavedSymbols {
 public:
  /// Adds a return address. If an unloaded module contained it, `unloaded` is the module's number
  /// plus 1, otherwise 0. Returns false if out of memory.
  [[nodiscard]] bool add_frame(std::uint64_t address, std::uint64_t unloaded) noexcept {
    return frames_.push_back({.unloaded = unloaded, .address = address});
  }

  /// Adds the next outer function of a frame. Returns false without adding anything if the frame is
  /// unknown, its functions are not adjacent, or memory ran out.
  [[nodiscard]] bool add_function(std::uint64_t frame, const SourceFrame& source) noexcept {
    if (frame >= frames_.size()) return false;
    Frame& at = frames_[frame];
    if (at.functions == 0) at.first = functions_.size();
    if (at.first + at.functions != functions_.size() || !functions_.push_back(source)) return false;
    ++at.functions;
    return true;
  }

  [[nodiscard]] std::size_t frames() const noexcept { return frames_.size(); }
  [[nodiscard]] std::uintptr_t address(std::size_t frame) const noexcept {
    return frames_[frame].address;
  }

  /// Sorts the frames. Call it after the last `add_frame`. Returns false if out of memory.
  [[nodiscard]] bool finish() noexcept {
    for (const Frame& frame : frames_) {
      if (!sorted_.push_back(frame)) return false;
    }
    std::sort(sorted_.begin(), sorted_.end(), &is_less);
    return true;
  }

  /// Makes `symbolize` use this object. `modules` must contain the modules of symbolized addresses.
  void use(const ModuleTable& modules) noexcept {
    modules_ = &modules;
    current_ = this;
  }

  /// Adds the recorded functions of each address in `places`; see `Symbolizer`.
  static void symbolize(std::span<const CodeAddress> places, Symbols& symbols) noexcept {
    for (std::size_t i = 0; i < places.size(); ++i) {
      for (const SourceFrame& function : current_->functions_at(places[i])) {
        symbols.add(i, function);
      }
    }
  }

 private:
  struct Frame {
    std::uint64_t unloaded = 0;
    std::uint64_t address = 0;
    std::size_t first = 0;
    std::size_t functions = 0;
  };

  static bool is_less(const Frame& one, const Frame& other) noexcept {
    return std::tie(one.unloaded, one.address) < std::tie(other.unloaded, other.address);
  }

  [[nodiscard]] std::span<const SourceFrame> functions_at(const CodeAddress& place) const noexcept {
    const bool unloaded = place.module != nullptr && place.module->is_unloaded();
    const Frame sought{.unloaded = unloaded ? modules_->index_of(*place.module) + 1 : 0,
                       .address = place.address + 1};
    const Frame* found = std::lower_bound(sorted_.begin(), sorted_.end(), sought, &is_less);
    if (found == sorted_.end() || is_less(sought, *found)) return {};
    return {functions_.data() + found->first, found->functions};
  }

  ArenaArray<Frame> frames_;
  ArenaArray<SourceFrame> functions_;
  /// The frames, sorted by unloaded module and address.
  ArenaArray<Frame> sorted_;
  const ModuleTable* modules_ = nullptr;
  static inline const SavedSymbols* current_ = nullptr;
};

/// Modules in the order of the recording. Uses arena memory; not thread-safe.
class SavedModules {
 public:
  /// Adds the module of a row. Returns false if out of memory.
  [[nodiscard]] bool add(const RecordReader& row) {
    Module module{.start = row.number("start"),
                  .end = row.number("end"),
                  .bias = row.number("bias"),
                  .path = row.text("path"),
                  .has_code = true,
                  .unloaded_before = static_cast<StackId>(row.number("unloaded_before"))};
    if (module.path.empty()) module.path = "?";
    for (const char byte : row.text("build_id").substr(0, sizeof module.build_id)) {
      module.build_id[module.build_id_bytes++] = static_cast<std::byte>(byte);
    }
    return read_.push_back(module);
  }

  /// Returns whether the module in row `number - 1` was unloaded; false if no such row exists.
  [[nodiscard]] bool is_unloaded(std::uint64_t number) const noexcept {
    return number > 0 && number <= read_.size() && read_[number - 1].is_unloaded();
  }

  /// Builds the module table. Call it after all stacks were read. Returns false if out of memory.
  [[nodiscard]] bool finish(const SavedStacks& stacks) {
    for (Module module : read_) {
      if (module.is_unloaded()) module.unloaded_before = stacks.id_from(module.unloaded_before);
      const bool added =
          module.is_unloaded() ? table_.add_unloaded(module) : table_.add_loaded(module);
      if (!added) return false;
    }
    return true;
  }

  [[nodiscard]] const ModuleTable& table() const noexcept { return table_; }

 private:
  ArenaArray<Module> read_;
  ModuleTable table_;
};

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
        {"misuses", &SavedReport::add_misuse},     {"freed", &SavedReport::add_given_back},
        {"offences", &SavedReport::add_offence}};
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

  void add_offence(const RecordReader& row) {
    keep(snapshot_.scope_offences, saved_offence(row, stack_or_none(row, "stack")));
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
    FreesByThread freed{.stack = stack_of(row), .thread = static_cast<std::uint32_t>(thread)};
    read_values(row, freed);
    const bool known = thread < snapshot_.threads.size() && has_allocated(snapshot_, freed.stack);
    damaged_ = damaged_ || !known;
    if (known) keep(snapshot_.freed.blocks, freed);
  }

  /// Adds an event. Drops the first invalid event and all later ones, to keep a prefix of the
  /// recorded log.
  void add_event(const RecordReader& row) {
    LoggedEvent event = events_.read(row);
    const std::optional<StackId> stack =
        event.adds_block() ? stacks_.find(row.number("stack")) : std::nullopt;
    if (stack) event.stack = *stack;
    const bool has_stack = !event.adds_block() || (stack && has_allocated(snapshot_, *stack));
    log_ended_ = log_ended_ || !has_stack || !events_.can_be(event);
    damaged_ = damaged_ || log_ended_;
    if (!log_ended_) out_of_memory_ = !events_.add(event) || out_of_memory_;
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
  /// An event was invalid, so all later ones are dropped.
  bool log_ended_ = false;
  bool out_of_memory_ = false;
};

}  // namespace alloctap
