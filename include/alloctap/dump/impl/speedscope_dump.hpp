/// Definitions for dump/speedscope_dump.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/dump/dump_policy.hpp"
#include "alloctap/dump/export/data_quality_text.hpp"
#include "alloctap/dump/export/frame_labels.hpp"
#include "alloctap/dump/export/function_numbers.hpp"
#include "alloctap/dump/export/json_data_quality.hpp"
#include "alloctap/dump/export/stack_weights.hpp"
#include "alloctap/dump/json_builder.hpp"
#include "alloctap/dump/speedscope_dump.hpp"
#include "alloctap/macros.hpp"

namespace alloctap {

/// Implements `SpeedscopeDump::write`.
class SpeedscopeWriting {
  struct View {
    StackCount count;
    const char* name;
    const char* unit;
  };

  static constexpr std::array<View, 4> kViews{
      {{StackCount::kLiveBytes, "live bytes", "bytes"},
       {StackCount::kLiveAllocations, "live allocations", "none"},
       {StackCount::kAllocatedBytes, "allocated bytes", "bytes"},
       {StackCount::kAllocations, "allocations", "none"}}};

 public:
  SpeedscopeWriting(const Report& report, DumpWriter& out)
      : report_(report), out_(out), labels_(report), account_(report), json_(out) {}

  void write() {
    if (!labels_.complete() || !account_.complete() || !number_functions()) {
      return out_.fail("speedscope: the system has no memory for frames");
    }
    json_.begin_object();
    json_.text("$schema", "https://www.speedscope.app/file-format-schema.json");
    json_.text("exporter", kExporter);
    json_.text("name", report_.program.executable);
    json_.number("activeProfileIndex", 0);
    write_json_account(account_, json_);
    write_functions();
    write_profiles();
    json_.end_object();
    out_ << '\n';
  }

 private:
  static constexpr std::string_view kExporter = "alloctap";

  /// Numbers all functions before writing, because streaming readers need the function table first.
  /// The four profiles share the table.
  [[nodiscard]] bool number_functions() {
    bool complete = numbers_.resize(labels_.size());
    for (const StackSummary& stack : report_.snapshot.stacks) {
      complete = complete && starts_.push_back(frames_.size());
      labels_.visit_root_first(stack.stack, [&](const LabelledFrame& frame) {
        complete = complete && frames_.push_back(number_of(frame));
      });
    }
    return complete && starts_.push_back(frames_.size()) && !lacks_number_;
  }

  [[nodiscard]] std::uint32_t number_of(const LabelledFrame& frame) {
    const bool known = frame.place != LabelledFrame::kNoPlace;
    std::uint32_t* kept = known ? &numbers_[labels_.index_of(frame)] : nullptr;
    if (kept != nullptr && *kept > 0) return *kept - 1;
    const std::uint32_t number = functions_.number_of(frame);
    lacks_number_ = lacks_number_ || number == FunctionNumbers::kNone;
    if (kept != nullptr) *kept = number + 1;
    return number;
  }

  void write_functions() {
    json_.key("shared");
    json_.begin_object();
    json_.key("frames");
    json_.begin_array();
    for (const FunctionNumbers::Function& function : functions_.functions()) {
      json_.begin_object();
      json_.text("name", function.label);
      if (!function.file.empty()) json_.text("file", function.file);
      json_.end_object();
    }
    json_.end_array();
    json_.end_object();
  }

  void write_profiles() {
    json_.key("profiles");
    json_.begin_array();
    for (const View& view : kViews) write_profile(view);
    json_.end_array();
  }

  void write_profile(const View& view) {
    std::uint64_t sum = 0;
    for (const StackSummary& stack : report_.snapshot.stacks) sum += count_of(stack, view.count);
    json_.begin_object();
    json_.text("type", "sampled");
    json_.text("name", view.name);
    json_.text("unit", view.unit);
    json_.number("startValue", 0);
    json_.number("endValue", sum);
    write_samples(view.count);
    write_weights(view.count);
    json_.end_object();
  }

  void write_samples(StackCount count) {
    json_.key("samples");
    json_.begin_array();
    for (std::size_t i = 0; i < report_.snapshot.stacks.size(); ++i) {
      if (count_of(report_.snapshot.stacks[i], count) == 0) continue;
      json_.begin_array();
      for (std::size_t j = starts_[i]; j < starts_[i + 1]; ++j)
        json_.value(std::uint64_t{frames_[j]});
      json_.end_array();
    }
    json_.end_array();
  }

  void write_weights(StackCount count) {
    json_.key("weights");
    json_.begin_array();
    for (const StackSummary& stack : report_.snapshot.stacks) {
      const std::uint64_t weight = count_of(stack, count);
      if (weight > 0) json_.value(weight);
    }
    json_.end_array();
  }

  const Report& report_;
  DumpWriter& out_;
  FrameLabels labels_;
  AccountList account_;
  FunctionNumbers functions_;
  /// Indexed by frame of `labels_`: the function's number plus 1, or 0 if not numbered yet.
  ArenaArray<std::uint32_t> numbers_;
  /// The functions of all stacks, one stack after the other, and the index in `frames_` at which
  /// each stack starts.
  ArenaArray<std::uint32_t> frames_;
  ArenaArray<std::size_t> starts_;
  bool lacks_number_ = false;
  JsonBuilder json_;
};

ALLOCTAP_INLINE void SpeedscopeDump::write(const Report& report, DumpWriter& out) const {
  SpeedscopeWriting(report, out).write();
}

static_assert(DumpPolicy<SpeedscopeDump>);

}  // namespace alloctap
