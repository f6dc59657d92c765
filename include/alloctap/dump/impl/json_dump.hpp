/// Definitions for dump/json_dump.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "alloctap/dump/dump_policy.hpp"
#include "alloctap/dump/json_builder.hpp"
#include "alloctap/dump/json_dump.hpp"
#include "alloctap/dump/json_owners.hpp"
#include "alloctap/dump/json_sections.hpp"
#include "alloctap/dump/named_stacks.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/snapshot/by_tag.hpp"
#include "alloctap/snapshot/leaks.hpp"
#include "alloctap/snapshot/suppressions.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// Implements `JsonDump::write`.
class JsonWriting {
 public:
  JsonWriting(const Report& report, const Suppressions& suppressions, bool asks_for_leaks,
              DumpWriter& out)
      : report_(report),
        suppressions_(suppressions),
        asks_for_leaks_(asks_for_leaks),
        owners_(report.snapshot),
        out_(out),
        json_(out) {}

  void write() {
    const FrameList frames(report_);
    if (!frames.complete() || !owners_.complete())
      return out_.fail("json: the system has no memory for frames");
    if (!look_for_leaks(frames)) return out_.fail("json: the system has no memory for leaks");
    json_.begin_object();
    json_.text("schema", "alloctap.heap/1");
    JsonOpening(report_, json_).write();
    write_leaks();
    write_misuses(frames);
    write_mappings(frames);
    json_.key("threads");
    write_threads(json_, report_.snapshot.threads);
    json_.key("ownership");
    write_ownership(json_, report_.snapshot, out_);
    write_tags();
    write_modules();
    write_frames(frames);
    write_stacks(frames);
    json_.key("sizes");
    write_sizes(json_, report_.snapshot.sizes);
    write_history(frames);
    write_game_frames(frames);
    write_scope_offences(frames);
    write_pools(frames);
    json_.end_object();
    out_ << '\n';
  }

 private:
  void write_mappings(const FrameList& frames) {
    json_.key("mappings");
    json_.begin_object();
    write_fields(json_, report_.snapshot.mapping_totals);
    json_.key("stacks");
    json_.begin_array();
    for (const MappingSummary& mapping : report_.snapshot.mappings) {
      json_.begin_object();
      write_frame_indices(mapping.stack, frames);
      write_fields(json_, mapping);
      json_.end_object();
    }
    json_.end_array();
    json_.end_object();
  }

  bool look_for_leaks(const FrameList& frames) {
    if (!asks_for_leaks_) return true;
    Result<Leaks> found = find_leaks(report_.snapshot, suppressions_, frames);
    if (found.ok()) leaks_ = *std::move(found);
    return leaks_.has_value();
  }

  void write_leaks() {
    json_.key("leaks");
    if (!leaks_) return json_.null();
    alloctap::write_leaks(json_, suppressions_, report_.snapshot.scan, *leaks_);
  }

  void write_misuses(const FrameList& frames) {
    const auto& misuses = report_.snapshot.misuses;
    const Result<SortedMisuses> sorted = sort_misuses(report_.snapshot, suppressions_, frames);
    if (!sorted.ok()) return out_.fail("json: the system has no memory for misuse");
    json_.key("misuses");
    json_.begin_object();
    json_.number("left_out", report_.snapshot.misuses_left_out);
    json_.key("checks");
    alloctap::write_checks(json_, report_.snapshot.checks);
    json_.key("faults");
    json_.begin_array();
    JsonMisuses faults(json_, [&](StackId stack) { write_frame_indices(stack, frames); });
    for (std::size_t i = 0; i < misuses.size(); ++i) {
      faults.write(misuses[i], sorted->rule_of_fault[i]);
    }
    json_.end_array();
    write_suppressed(json_, suppressions_, *sorted);
    json_.key("guard_pages");
    write_guards(json_, report_.snapshot.guards);
    json_.end_object();
  }

  void write_tags() {
    json_.key("tags");
    if (report_.snapshot.tags == nullptr) return json_.null();
    const Result<ArenaArray<TagSummary>> sums = by_tag(report_.snapshot);
    if (sums.ok()) return alloctap::write_tags(json_, *sums, owners_);
    json_.null();
    out_.fail("json: the system has no memory for tags");
  }

  void write_modules() {
    json_.key("modules");
    json_.begin_array();
    for (const Module& module : report_.modules.modules()) {
      json_.begin_object();
      json_.text("path", module.path);
      json_.key("build_id");
      json_.string_or_null(BuildIdText(module).view());
      json_.number("start", module.start);
      json_.number("end", module.end);
      json_.number("bias", module.bias);
      json_.key("unloaded");
      json_.value(module.is_unloaded());
      json_.end_object();
    }
    json_.end_array();
  }

  void write_frames(const FrameList& frames) {
    json_.key("frames");
    json_.begin_array();
    for (std::size_t i = 0; i < frames.size(); ++i) {
      json_.begin_object();
      json_.number("address", frames.return_address(i));
      write_source(frames.source(i));
      write_module(frames.place(i));
      json_.end_object();
    }
    json_.end_array();
  }

  /// Writes inlined functions as a separate list. A reader that ignores the list sees only the
  /// function that contains the inlined ones.
  void write_source(std::span<const SourceFrame> source) {
    const SourceFrame real = source.empty() ? SourceFrame() : source.back();
    write_place(real);
    json_.key("inlined");
    json_.begin_array();
    for (std::size_t i = 0; i + 1 < source.size(); ++i) {
      json_.begin_object();
      write_place(source[i]);
      json_.end_object();
    }
    json_.end_array();
  }

  void write_place(const SourceFrame& frame) {
    json_.key("function");
    json_.string_or_null(frame.function);
    json_.key("file");
    json_.string_or_null(frame.file);
    json_.key("line");
    json_.value_unless(frame.line, 0);
  }

  void write_module(const CodeAddress& place) {
    json_.key("module");
    if (place.module == nullptr) {
      json_.null();
      json_.key("offset");
      json_.null();
    } else {
      json_.value(report_.modules.index_of(*place.module));
      json_.number("offset", place.address - place.module->bias);
    }
  }

  void write_stacks(const FrameList& frames) {
    json_.key("stacks");
    json_.begin_array();
    for (std::size_t i = 0; i < report_.snapshot.stacks.size(); ++i) {
      const StackSummary& stack = report_.snapshot.stacks[i];
      json_.begin_object();
      write_frame_indices(stack.stack, frames);
      write_owner(json_, owners_, stack.stack);
      write_rule_of_stack(i);
      json_.key("outside_size_range");
      json_.value(stack.stack == kStackNotTaken);
      write_fields(json_, stack);
      write_unreachable(stack);
      json_.end_object();
    }
    json_.end_array();
  }

  void write_unreachable(const StackSummary& stack) {
    if (report_.snapshot.scan.done) return write_object(json_, "unreachable", stack.unreachable);
    json_.key("unreachable");
    json_.null();
  }

  void write_rule_of_stack(std::size_t number) {
    const std::uint32_t rule = leaks_ ? leaks_->rule_of_stack[number] : Leaks::kNoRule;
    const bool is_expected = rule == Leaks::kExpectedToStay;
    json_.key("suppressed_by");
    json_.value_unless(is_expected ? Leaks::kNoRule : rule, Leaks::kNoRule);
    json_.key("expected_to_stay");
    json_.value(is_expected);
  }

  void write_game_frames(const FrameList& frames) {
    json_.key("game_frames");
    const FrameHistory& history = report_.snapshot.frames;
    if (!history.known) return json_.null();
    const auto write_stack = [&](StackId stack) { write_frame_indices(stack, frames); };
    if (JsonGameFrames(json_, history, owners_, write_stack).write()) return;
    json_.null();
    out_.fail("json: the system has no memory for frames of the game");
  }

  void write_scope_offences(const FrameList& frames) {
    const Snapshot& snapshot = report_.snapshot;
    json_.key("scope_offences");
    if (!snapshot.scopes_known) return json_.null();
    json_.begin_object();
    json_.number("left_out", snapshot.left_out_scope_offences);
    json_.key("offences");
    json_.begin_array();
    for (const OffenceSum& offence : snapshot.scope_offences) {
      json_.begin_object();
      json_.text("scope", offence.scope());
      write_frame_indices(offence.stack, frames);
      write_owner(json_, owners_, offence.stack);
      write_fields(json_, offence);
      json_.end_object();
    }
    json_.end_array();
    json_.end_object();
  }

  void write_pools(const FrameList& frames) {
    json_.key("pools");
    alloctap::write_pools(json_, report_.snapshot.pools, [&](StackId stack) {
      write_frame_indices(stack, frames);
      write_owner(json_, owners_, stack);
    });
  }

  void write_history(const FrameList& frames) {
    json_.key("timeline");
    write_timeline(json_, report_.snapshot.timeline);
    json_.key("markers");
    write_markers(json_, report_.snapshot.markers);
    json_.key("peak");
    write_peak(json_, report_.snapshot.peak,
               [&](StackId stack) { write_frame_indices(stack, frames); });
  }

  void write_frame_indices(StackId stack, const FrameList& frames) {
    json_.key("frames");
    json_.begin_array();
    for (const std::uintptr_t frame : report_.snapshot.table->frames(stack)) {
      json_.value(frames.index_of(stack, frame));
    }
    json_.end_array();
  }

  const Report& report_;
  const Suppressions& suppressions_;
  bool asks_for_leaks_;
  OwnerLabels owners_;
  /// nullopt if leaks are not requested.
  std::optional<Leaks> leaks_;
  DumpWriter& out_;
  JsonBuilder json_;
};

ALLOCTAP_INLINE void JsonDump::write(const Report& report, DumpWriter& out) const {
  const Suppressions none;
  const bool has_rules = suppressions != nullptr;
  JsonWriting(report, has_rules ? *suppressions : none, has_rules && leaks, out).write();
}

static_assert(DumpPolicy<JsonDump>);

}  // namespace alloctap
