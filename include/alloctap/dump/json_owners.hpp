/// Tags, threads, ownership, pools and game frames in schema alloctap.heap/1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/dump/json_builder.hpp"
#include "alloctap/dump/json_sections.hpp"
#include "alloctap/dump/named_stacks.hpp"
#include "alloctap/event/stack_identity.hpp"
#include "alloctap/record/heap_summary.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/by_tag.hpp"
#include "alloctap/snapshot/frame_history.hpp"
#include "alloctap/snapshot/ownership_matrix.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// Writes `sums`, the result of `by_tag`, as an array.
inline void write_tags(JsonBuilder& json, const ArenaArray<TagSummary>& sums,
                       const OwnerLabels& labels) {
  json.begin_array();
  for (const TagSummary& sum : sums) {
    json.begin_object();
    json.key("tag");
    json.string_or_null(labels.tags().of(sum.tag));
    json.number("allocations", sum.own.total.allocations);
    json.number("allocated_bytes", sum.own.total.allocated_bytes);
    json.number("live_allocations", sum.own.live_allocations);
    json.number("live_bytes", sum.own.live_bytes);
    json.number("temporary_allocations", sum.own.total.temporary_allocations);
    json.number("live_bytes_with_nested", sum.with_nested.live_bytes);
    json.number("overhead_bytes", sum.overhead_bytes);
    json.end_object();
  }
  json.end_array();
}

/// Writes the members "tag" and "thread" of a stack. "thread" is an index into "threads".
inline void write_owner(JsonBuilder& json, const OwnerLabels& labels, StackId stack) {
  json.key("tag");
  json.string_or_null(labels.tag(stack));
  json.key("thread");
  json.value_or_null(labels.thread_index(stack));
}

/// Writes `threads` as an array.
inline void write_threads(JsonBuilder& json, const ArenaArray<ThreadSummary>& threads) {
  json.begin_array();
  for (const ThreadSummary& thread : threads) {
    json.begin_object();
    json.number("id", static_cast<std::uint64_t>(thread.thread_id));
    json.key("name");
    json.string_or_null(thread.name());
    write_fields(json, thread);
    if (thread.holding) {
      write_fields(json, *thread.holding);
    } else {
      write_nulls<ThreadSummary::Holding>(json);
    }
    json.end_object();
  }
  json.end_array();
}

/// Writes the sums of blocks by allocating and freeing thread as an array. Writes null if the
/// snapshot lacks these sums.
inline void write_ownership(JsonBuilder& json, const Snapshot& snapshot, DumpWriter& out) {
  if (!tells_ownership(snapshot)) return json.null();
  const Result<OwnershipMatrix> matrix = ownership_matrix(snapshot);
  if (!matrix.ok()) {
    json.null();
    return out.fail("json: the system has no memory for who gave back what");
  }
  json.begin_array();
  for (const OwnershipRow& row : matrix->threads) {
    json.begin_object();
    json.key("allocating_thread");
    json.value_unless(row.allocating, OwnershipRow::kNotKnown);
    json.number("freeing_thread", row.freeing);
    json.number("blocks", row.blocks);
    json.number("bytes", row.bytes);
    json.end_object();
  }
  json.end_array();
}

/// Writes the value of "pools", or null if the tracker does not observe pools.
/// `write_stack(StackId)` writes the members that identify a stack.
template <class WriteStack>
void write_pools(JsonBuilder& json, const PoolsSummary& pools, WriteStack&& write_stack) {
  if (!pools.known) return json.null();
  json.begin_object();
  write_fields(json, pools);
  json.key("pools");
  json.begin_array();
  for (const PoolSummary& pool : pools.pools) {
    json.begin_object();
    json.text("name", pool.name);
    write_fields(json, pool);
    json.key("stacks");
    json.begin_array();
    for (const PoolStackSummary& held : pools.stacks_of(pool)) {
      json.begin_object();
      write_stack(held.stack);
      write_fields(json, held);
      json.end_object();
    }
    json.end_array();
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

/// Writer of a `FrameHistory` as a JSON object. `write_frames(StackId)` writes a stack's member
/// "frames". All arguments must outlive this object.
template <class WriteFrames>
class JsonGameFrames {
 public:
  JsonGameFrames(JsonBuilder& json, const FrameHistory& history, const OwnerLabels& labels,
                 WriteFrames write_frames)
      : json_(json), history_(history), labels_(labels), write_frames_(write_frames) {}

  /// Returns false without writing anything if out of memory.
  [[nodiscard]] bool write() {
    if (!number_tags()) return false;
    json_.begin_object();
    write_fields<FrameTotals>(json_, history_);
    write_list("tags", tags_, [&](TagId tag) { write_tag_entry(tag); });
    write_list("last", history_.last, [&](const FrameSummary& frame) { write_frame(frame); });
    write_list("histograms", kAllFrameMeasures,
               [&](FrameMeasure measure) { write_histogram(measure); });
    write_worst_frames();
    write_list("budgets", history_.budgets, [&](const BudgetSummary& budget) { write(budget); });
    write_list("offences", history_.offences,
               [&](const BudgetOffence& offence) { write(offence); });
    json_.end_object();
    return true;
  }

 private:
  static constexpr std::uint16_t kNoNumber = 0xFFFF;

  /// Numbers the tags that occur in the recorded game frames. Returns false if out of memory.
  bool number_tags() noexcept {
    for (const TagOfFrame& of_tag : history_.tags) {
      const TagId tag = of_tag.tag;
      while (number_of_tag_.size() <= tag) {
        if (!number_of_tag_.push_back(kNoNumber)) return false;
      }
      if (number_of_tag_[tag] != kNoNumber) continue;
      number_of_tag_[tag] = static_cast<std::uint16_t>(tags_.size());
      if (!tags_.push_back(tag)) return false;
    }
    return true;
  }

  template <class List, class Write>
  void write_list(const char* name, const List& list, Write&& write_one) {
    json_.key(name);
    json_.begin_array();
    for (const auto& one : list) {
      json_.begin_object();
      write_one(one);
      json_.end_object();
    }
    json_.end_array();
  }

  void write_tag(TagId tag) {
    json_.key("tag");
    json_.string_or_null(labels_.tags().of(tag));
  }

  void write_tag_entry(TagId tag) {
    write_tag(tag);
    json_.key("others");
    json_.value(tag == kOtherTags);
  }

  void write_frame(const FrameSummary& frame) {
    write_fields(json_, frame);
    const std::span tags(history_.tags.begin() + frame.first_tag, frame.tag_count);
    write_list("tags", tags, [&](const TagOfFrame& of_tag) {
      json_.number("tag", number_of_tag_[of_tag.tag]);
      write_fields(json_, of_tag);
    });
  }

  void write_histogram(FrameMeasure measure) {
    const FrameHistogram& histogram = history_.histograms[static_cast<std::size_t>(measure)];
    json_.text("measure", name_of(measure));
    json_.key("classes");
    json_.begin_array();
    for (std::size_t i = 0; i < histogram.size(); ++i) {
      if (histogram[i] == 0) continue;
      json_.begin_object();
      json_.number("min", least_size(i));
      json_.number("max", greatest_size(i));
      json_.number("frames", histogram[i]);
      json_.end_object();
    }
    json_.end_array();
  }

  void write_worst_frames() {
    json_.key("worst");
    json_.begin_array();
    for (const FrameMeasure measure : kAllFrameMeasures) {
      for (const WorstFrame& frame : history_.worst[static_cast<std::size_t>(measure)]) {
        json_.begin_object();
        json_.text("measure", name_of(measure));
        write_worst(frame);
        json_.end_object();
      }
    }
    json_.end_array();
  }

  void write_worst(const WorstFrame& frame) {
    write_fields(json_, frame);
    json_.key("slowest_call");
    write(frame.slowest);
    write_list("stacks", std::span(frame.stacks).first(frame.stack_count),
               [&](const StackOfFrame& stack) {
                 write_frames_(stack.stack);
                 write_owner(json_, labels_, stack.stack);
                 write_fields(json_, stack);
               });
    write_object(json_, "other_stacks", frame.other_stacks);
  }

  void write(const SlowCall& call) {
    if (call.duration_ns == 0) return json_.null();
    json_.begin_object();
    json_.text("call", name_of(call.call));
    json_.text("cause", name_of(cause_of(call)));
    json_.key("duration_ns");
    json_.value(call.duration_ns);
    json_.number("bytes", call.bytes);
    write_tag(call.tag);
    write_usage("page_faults", call, call.page_faults);
    write_usage("waits", call, call.waits);
    write_usage("preemptions", call, call.preemptions);
    write_frames_(call.stack);
    json_.end_object();
  }

  void write_usage(const char* name, const SlowCall& call, std::uint64_t number) {
    json_.key(name);
    json_.value_or_null(call.has_usage ? std::optional(number) : std::nullopt);
  }

  void write(const BudgetSummary& budget) {
    write_tag(budget.tag);
    write_list("limits", kAllBudgetKinds, [&](BudgetKind kind) {
      const LimitSummary& limit = budget.limits[static_cast<std::size_t>(kind)];
      json_.text("kind", name_of(kind));
      write_fields(json_, limit);
    });
  }

  void write(const BudgetOffence& offence) {
    write_tag(offence.tag);
    json_.text("kind", name_of(offence.kind));
    write_fields(json_, offence);
    write_frames_(offence.stack);
  }

  JsonBuilder& json_;
  const FrameHistory& history_;
  const OwnerLabels& labels_;
  WriteFrames write_frames_;
  /// `tags_` is indexed by number, `number_of_tag_` by tag.
  ArenaArray<TagId> tags_;
  ArenaArray<std::uint16_t> number_of_tag_;
};

}  // namespace alloctap
