/// Definitions for dump/record_dump.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/dump/dump_policy.hpp"
#include "alloctap/dump/named_stacks.hpp"
#include "alloctap/dump/record_dump.hpp"
#include "alloctap/dump/recording/record_events.hpp"
#include "alloctap/dump/recording/record_format.hpp"
#include "alloctap/dump/recording/record_tables.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/version.hpp"

namespace alloctap {

/// Implements `RecordDump::write`.
class RecordWriting {
 public:
  RecordWriting(const Report& report, DumpWriter& out)
      : report_(report), snapshot_(report.snapshot), out_(out), record_(out) {}

  void write() {
    const FrameList frames(report_);
    if (!frames.complete() || !list_stacks()) {
      return out_.fail("record: the system has no memory for stacks");
    }
    write_texts();
    write_numbers();
    write_modules();
    write_frames(frames);
    write_functions(frames);
    write_tags(record_, snapshot_);
    write_stacks(frames);
    write_sums(record_, snapshot_);
    write_past(record_, snapshot_);
    write_threads(record_, snapshot_);
    write_blocks(record_, snapshot_);
    write_misuses(record_, snapshot_);
    write_given_back(record_, snapshot_);
    write_scope_offences(record_, snapshot_);
    RecordGameFrames(record_, snapshot_.frames).write();
    write_pools(record_, snapshot_.pools);
    // The largest table comes last, so that a truncated recording keeps all other tables.
    if (!write_events(record_, snapshot_.events)) {
      return out_.fail("record: the system has no memory for events");
    }
    record_.finish();
  }

 private:
  using enum RecordKind;

  /// Collects the stacks that any table of the recording refers to.
  bool list_stacks() noexcept {
    bool complete = true;
    const auto add = [&](const auto& summaries) {
      for (const auto& summary : summaries) {
        complete = stacks_.push_back(summary.stack) && complete;
      }
    };
    add(snapshot_.stacks);
    add(snapshot_.mappings);
    add(snapshot_.peak.stacks);
    add(snapshot_.pools.stacks);
    add(snapshot_.scope_offences);
    const auto add_one = [&](StackId stack) { complete = stacks_.push_back(stack) && complete; };
    for_each_misuse_stack(snapshot_, add_one);
    for_each_stack(snapshot_.frames, add_one);
    std::sort(stacks_.begin(), stacks_.end());
    const StackId* end = std::unique(stacks_.begin(), stacks_.end());
    return complete && stacks_.resize(static_cast<std::size_t>(end - stacks_.begin()));
  }

  void write_texts() {
    record_.begin_table("texts", {{kText, "key"}, {kText, "value"}});
    record_.row("alloctap", kVersionString);
    record_.row("executable", report_.program.executable);
    record_.row("command", report_.program.command);
    record_.row("hook", report_.backend.hook);
    record_.row("stack", report_.backend.stack);
    record_.row("symbolizer", report_.backend.symbolizer);
    record_.row("unseen", report_.backend.blind_spots);
    record_.row("sampling", snapshot_.sampling.policy.name);
    record_.end_table();
  }

  void write_numbers() {
    record_.begin_table("numbers", {{kText, "key"}, {kNumber, "value"}});
    const auto add = [this](std::string_view key, const auto& value) {
      record_.row(key, static_cast<std::uint64_t>(value));
    };
    add("pid", report_.program.pid);
    add("max_frames", report_.backend.max_frames);
    add("events", snapshot_.events.count);
    visit_numbers(snapshot_, [&]<class Number>(const RecordKey& key, const Number& number) {
      char buffer[64];
      if constexpr (requires { number.has_value(); }) {
        if (number.has_value()) add(key.text(buffer), *number);
      } else {
        add(key.text(buffer), number);
      }
    });
    // The row is missing if the tracker has no tags.
    if (snapshot_.tags != nullptr) add("tags", snapshot_.tags->end_id() - 1);
    record_.end_table();
  }

  void write_modules() {
    record_.begin_table("modules", {{kText, "path"},
                                    {kText, "build_id"},
                                    {kNumber, "start"},
                                    {kNumber, "end"},
                                    {kNumber, "bias"},
                                    {kNumber, "unloaded_before"}});
    for (const Module& module : report_.modules.modules()) {
      const std::string_view build_id(reinterpret_cast<const char*>(module.build_id),
                                      module.build_id_bytes);
      record_.row(module.path, build_id, module.start, module.end, module.bias,
                  module.unloaded_before);
    }
    record_.end_table();
  }

  /// Writes table "frames". `module` is the number of the module's row plus 1, or 0 if unknown.
  void write_frames(const FrameList& frames) {
    record_.begin_table("frames", {{kNumber, "address"}, {kNumber, "module"}});
    for (std::size_t i = 0; i < frames.size(); ++i) {
      const Module* module = frames.place(i).module;
      record_.row(frames.return_address(i),
                  module == nullptr ? 0 : report_.modules.index_of(*module) + 1);
    }
    record_.end_table();
  }

  /// Writes table "functions". `frame` is the number of a row of "frames". Functions of one frame
  /// are adjacent, innermost first.
  void write_functions(const FrameList& frames) {
    record_.begin_table(
        "functions", {{kNumber, "frame"}, {kText, "function"}, {kText, "file"}, {kNumber, "line"}});
    for (std::size_t i = 0; i < frames.size(); ++i) {
      for (const SourceFrame& source : frames.source(i)) {
        record_.row(i, source.function, source.file, source.line);
      }
    }
    record_.end_table();
  }

  /// Writes table "stacks". `frames` are numbers of rows of "frames", leaf first.
  void write_stacks(const FrameList& frames) {
    record_.begin_table(
        "stacks", {{kNumber, "id"}, {kList, "frames"}, {kNumber, "tag"}, {kNumber, "thread"}});
    for (const StackId stack : stacks_) {
      const auto calls = snapshot_.table->frames(stack);
      record_.begin_row();
      record_.value(stack);
      record_.begin_list(calls.size());
      for (const std::uintptr_t call : calls) record_.value(frames.index_of(stack, call));
      record_.value(snapshot_.table->owner(stack).tag);
      record_.value(snapshot_.table->owner(stack).thread);
    }
    record_.end_table();
  }

  const Report& report_;
  const Snapshot& snapshot_;
  DumpWriter& out_;
  RecordWriter record_;
  /// Sorted by id.
  ArenaArray<StackId> stacks_;
};

ALLOCTAP_INLINE void RecordDump::write(const Report& report, DumpWriter& out) const {
  RecordWriting(report, out).write();
}

static_assert(DumpPolicy<RecordDump>);

}  // namespace alloctap
