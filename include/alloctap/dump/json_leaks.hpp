/// Leaks in schema alloctap.heap/1.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/dump/json_builder.hpp"
#include "alloctap/dump/json_fields.hpp"
#include "alloctap/dump/json_rules.hpp"
#include "alloctap/snapshot/leaks.hpp"
#include "alloctap/snapshot/reach/reachability.hpp"
#include "alloctap/snapshot/suppressions.hpp"

namespace alloctap {

/// Writes `sum` as members of the open object.
inline void write_members(JsonBuilder& json, const LiveSum& sum) {
  json.number("stacks", sum.stacks);
  json.number("live_allocations", sum.live_allocations);
  json.number("live_bytes", sum.live_bytes);
}

inline void write_sum(JsonBuilder& json, const char* key, const LiveSum& sum) {
  json.key(key);
  json.begin_object();
  write_members(json, sum);
  json.end_object();
}

/// Writes the reachability scan as an object, or null if no scan was done.
inline void write_scan(JsonBuilder& json, const ScanSummary& scan, const Leaks& leaks) {
  if (!scan.done) return json.null();
  json.begin_object();
  write_sum(json, "definite", leaks.definite);
  write_sum(json, "indirect", leaks.indirect);
  write_fields(json, scan);
  json.end_object();
}

/// Writes `leaks` as an object.
inline void write_leaks(JsonBuilder& json, const Suppressions& suppressions,
                        const ScanSummary& scan, const Leaks& leaks) {
  json.begin_object();
  write_members(json, leaks.leaked);
  json.key("unreachable");
  write_scan(json, scan, leaks);
  write_sum(json, "suppressed", leaks.suppressed);
  json.key("rules");
  json.begin_array();
  for (std::size_t i = 0; i < leaks.rules.size(); ++i) {
    json.begin_object();
    write_members(json, suppressions.leak_rules()[i]);
    write_members(json, leaks.rules[i]);
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

}  // namespace alloctap
