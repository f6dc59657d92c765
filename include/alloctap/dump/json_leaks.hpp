/// The part of schema alloctap.heap/1 that is about leaks.
#pragma once

#include <cstddef>

#include "alloctap/dump/json_builder.hpp"
#include "alloctap/snapshot/leaks.hpp"
#include "alloctap/snapshot/suppressions.hpp"

namespace alloctap {

/// The members of an object.
inline void write_members(JsonBuilder& json, const LiveSum& sum) {
  json.number("stacks", sum.stacks);
  json.number("live_allocations", sum.live_allocations);
  json.number("live_bytes", sum.live_bytes);
}

/// `leaks` as an object.
inline void write_leaks(JsonBuilder& json, const Suppressions& suppressions, const Leaks& leaks) {
  json.begin_object();
  write_members(json, leaks.leaked);
  json.key("suppressed");
  json.begin_object();
  write_members(json, leaks.suppressed);
  json.end_object();
  json.key("rules");
  json.begin_array();
  for (std::size_t i = 0; i < leaks.rules.size(); ++i) {
    const SuppressionRule& rule = suppressions.rules()[i];
    json.begin_object();
    json.text("pattern", rule.pattern);
    json.text("source", rule.source);
    json.number("line", rule.line);
    write_members(json, leaks.rules[i]);
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

}  // namespace alloctap
