/// Tags, and the tag and thread that own each stack, in schema alloctap.heap/1.
#pragma once

#include "alloctap/dump/json_builder.hpp"
#include "alloctap/dump/owner_labels.hpp"
#include "alloctap/event/stack_identity.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/by_tag.hpp"

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

}  // namespace alloctap
