/// What holds for every report in JSON, whatever the program was.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

#include "tests/integration/support/dump.hpp"

namespace alloctap::testing {

/// A text names a type, with '?' where null may stand for it; an array's element holds for all.
inline Json report_shape() {
  return Json::parse(R"({
    "schema": "string",
    "program": {"pid": "number", "executable": "string", "arguments": ["string"],
                "time_ns": "number"},
    "backend": {"alloctap": "string", "hook": "string", "stack": "string", "max_frames": "number",
                "symbolizer": "string", "unseen": "string"},
    "account": {"events": "number", "dropped": "number", "unmatched_frees": "number?",
                "unseen_frees": "number", "failed_unwinds": "number",
                "frame_pointer_unwinds": "number", "truncated_stacks": "number", "tracker_bytes": "number", "pauses": "number",
                "unlogged_events": "number", "consistent": "boolean"},
    "sampling": {"policy": "string", "exact": "boolean", "mean_bytes": "number?",
                 "min_bytes": "number?", "max_bytes": "number?", "live_samples": "number",
                 "live_bytes_margin": "number"},
    "totals": {"allocations": "number", "deallocations": "number", "allocated_bytes": "number",
               "live_allocations": "number", "live_bytes": "number", "peak_live_bytes": "number",
               "temporary_allocations": "number"},
    "mappings": {"mappings": "number", "unmappings": "number", "mapped_bytes": "number",
                 "live_mappings": "number", "live_bytes": "number", "peak_live_bytes": "number",
                 "stacks": [{"frames": ["number"], "live_mappings": "number",
                             "live_bytes": "number"}]},
    "threads": [{"id": "number", "name": "string?", "alive": "boolean", "threads": "number",
                 "allocations": "number", "allocated_bytes": "number",
                 "temporary_allocations": "number", "deallocations": "number",
                 "net_bytes": "number", "live_allocations": "number?",
                 "live_bytes": "number?"}],
    "tags": "array?",
    "modules": [{"path": "string", "build_id": "string?", "start": "number", "end": "number",
                 "bias": "number", "unloaded": "boolean"}],
    "frames": [{"address": "number", "function": "string?", "file": "string?", "line": "number?",
                "inlined": [{"function": "string?", "file": "string?", "line": "number?"}],
                "module": "number?", "offset": "number?"}],
    "stacks": [{"frames": ["number"], "suppressed_by": "number?", "outside_size_range": "boolean",
                "tag": "number?", "thread": "number?", "allocations": "number", "allocated_bytes": "number",
                "live_allocations": "number", "live_bytes": "number",
                "temporary_allocations": "number", "unreachable": "object?"}],
    "misuses": {"left_out": "number", "checks": ["string"],
                "suppressed": {"ways": "number", "times": "number"},
                "rules": [{"subject": "string", "only": "boolean", "pattern": "string",
                           "source": "string", "line": "number", "ways": "number",
                           "times": "number"}],
                "faults": [{"kind": "string", "times": "number", "suppressed_by": "number?",
                            "address": "number",
                            "call": "string?", "stated_size": "number?",
                            "stated_alignment": "number?", "heap": "number?",
                            "found": {"thread": "number", "time_ns": "number",
                                      "frames": ["number"]},
                            "block": "object?", "changed": "object?",
                            "access": "object?"}],
                "guard_pages": "object?"},
    "sizes": [{"min_bytes": "number", "max_bytes": "number", "live_allocations": "number",
               "live_bytes": "number"}],
    "timeline": [{"time_ns": "number", "live_bytes": "number", "live_allocations": "number",
                  "allocations": "number", "allocated_bytes": "number",
                  "resident_bytes": "number"}],
    "markers": [{"time_ns": "number", "name": "string"}],
    "peak": {"time_ns": "number", "live_bytes": "number",
             "stacks": [{"frames": ["number"], "live_allocations": "number",
                         "live_bytes": "number"}]}
  })");
}

inline bool has_type(const Json& value, std::string type) {
  const bool may_be_null = type.back() == '?';
  if (may_be_null) type.pop_back();
  return value.type_name() == type || (may_be_null && value.is_null());
}

/// The first place at which `value` has not the shape; empty where it has it all over.
inline std::string find_misshapen(const Json& value, const Json& shape, const std::string& place) {
  if (shape.is_string()) return has_type(value, shape.get<std::string>()) ? "" : place;
  if (value.type() != shape.type()) return place;
  std::string found;
  if (shape.is_array()) {
    for (std::size_t i = 0; i < value.size() && found.empty(); ++i) {
      found = find_misshapen(value[i], shape[0], place + "/" + std::to_string(i));
    }
    return found;
  }
  for (const auto& [key, inner] : shape.items()) {
    const std::string below = place + "/" + key;
    if (!value.contains(key)) return below + " is not there";
    if (found.empty()) found = find_misshapen(value.at(key), inner, below);
  }
  return found;
}

inline std::uint64_t sum_over_stacks(const Json& report, const char* key) {
  std::uint64_t sum = 0;
  for (const Json& stack : report.at("stacks")) sum += stack.at(key).get<std::uint64_t>();
  return sum;
}

/// The numbers of threads add up, and whoever frees a block, what is live is the sum. Of an exact
/// report.
inline void check_threads(const Json& report) {
  const Json& totals = report.at("totals");
  for (const char* key :
       {"allocations", "allocated_bytes", "temporary_allocations", "deallocations"}) {
    CAPTURE(key);
    std::uint64_t sum = 0;
    for (const Json& thread : report.at("threads")) sum += thread.at(key).get<std::uint64_t>();
    CHECK(sum == totals.at(key));
  }
  std::int64_t net_bytes = 0;
  for (const Json& thread : report.at("threads")) {
    net_bytes += thread.at("net_bytes").get<std::int64_t>();
    CHECK(thread.at("threads") > 0);
    CHECK(thread.at("name").is_null() == !thread.at("alive").get<bool>());
  }
  CHECK(net_bytes == totals.at("live_bytes"));
}

inline void check_sums(const Json& report) {
  const Json& totals = report.at("totals");
  for (const char* key : {"allocations", "allocated_bytes", "live_allocations", "live_bytes",
                          "temporary_allocations"}) {
    CAPTURE(key);
    CHECK(sum_over_stacks(report, key) == totals.at(key));
  }
  CHECK(totals.at("allocations").get<std::uint64_t>() -
            totals.at("deallocations").get<std::uint64_t>() ==
        totals.at("live_allocations"));
  CHECK(totals.at("peak_live_bytes") >= totals.at("live_bytes"));
  CHECK(report.at("account").at("events") >= totals.at("allocations"));
}

inline bool frame_is_sound(const Json& frame, const Json& modules) {
  if (frame.at("module").is_null()) return frame.at("offset").is_null();
  if (frame.at("module") >= modules.size()) return false;
  const Json& module = modules.at(frame.at("module").get<std::size_t>());
  const auto call = frame.at("address").get<std::uint64_t>() - 1;
  return call >= module.at("start") && call < module.at("end") &&
         call - module.at("bias").get<std::uint64_t>() == frame.at("offset");
}

inline void check_indices(const Json& report) {
  std::size_t unsound = 0;
  for (const Json& frame : report.at("frames")) {
    if (!frame_is_sound(frame, report.at("modules"))) ++unsound;
  }
  for (const Json& stack : report.at("stacks")) {
    for (const Json& index : stack.at("frames")) {
      if (index >= report.at("frames").size()) ++unsound;
    }
  }
  CHECK(unsound == 0);
}

/// The whole schema, sums that add up, indices that lead somewhere, and nothing lost.
inline void check_report(const Dump& dump) {
  CHECK(find_misshapen(dump.json(), report_shape(), "") == "");
  CHECK(dump.json().at("schema") == "alloctap.heap/1");
  CHECK(dump.account("dropped") == 0);
  CHECK(dump.account("unseen_frees") == 0);
  check_sums(dump.json());
  check_threads(dump.json());
  check_indices(dump.json());
}

}  // namespace alloctap::testing
