/// Opening members, history, leaks and misuses in schema alloctap.heap/1.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "alloctap/check/check_settings.hpp"
#include "alloctap/check/misuse_log.hpp"
#include "alloctap/dump/dump_policy.hpp"
#include "alloctap/dump/human_units.hpp"
#include "alloctap/dump/json_builder.hpp"
#include "alloctap/record/heap_summary.hpp"
#include "alloctap/snapshot/leaks.hpp"
#include "alloctap/snapshot/reach/reachability.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/snapshot/snapshot_fields.hpp"
#include "alloctap/snapshot/sorted_misuses.hpp"
#include "alloctap/snapshot/suppressions.hpp"
#include "alloctap/version.hpp"

namespace alloctap {

inline void write_field(JsonBuilder& json, const std::optional<std::uint64_t>& number) {
  json.value_or_null(number);
}
inline void write_field(JsonBuilder& json, std::uint64_t number, std::uint64_t nothing) {
  json.value_unless(number, nothing);
}
template <std::integral Number>
void write_field(JsonBuilder& json, Number number) {
  if constexpr (std::same_as<Number, bool>) {
    json.value(number);
  } else if constexpr (std::signed_integral<Number>) {
    json.value(std::int64_t{number});
  } else {
    json.value(std::uint64_t{number});
  }
}

/// Writes the fields of `summary` as members of the open object.
template <class Summary>
void write_fields(JsonBuilder& json, const Summary& summary) {
  visit_fields(summary, [&json](const char* name, const auto& field, auto... nothing) {
    json.key(name);
    write_field(json, field, nothing...);
  });
}

/// Writes null for each field of a `Summary` whose values are all unknown.
template <class Summary>
void write_nulls(JsonBuilder& json) {
  visit_fields(kEmpty<Summary>, [&json](const char* name, const auto&, auto...) {
    json.key(name);
    json.null();
  });
}

/// Writes `summary` as the member `name`, an object.
template <class Summary>
void write_object(JsonBuilder& json, const char* name, const Summary& summary) {
  json.key(name);
  json.begin_object();
  write_fields(json, summary);
  json.end_object();
}

/// Writer of the members from `program` to `totals`: program, backend, data quality, sampling,
/// sums. The report and the builder must outlive this object.
class JsonOpening {
 public:
  JsonOpening(const Report& report, JsonBuilder& json) : report_(report), json_(json) {}

  void write() {
    write_program();
    write_backend();
    write_object(json_, "account", report_.snapshot.account);
    write_sampling();
    write_object(json_, "totals", report_.snapshot.totals);
  }

 private:
  void write_program() {
    json_.key("program");
    json_.begin_object();
    json_.number("pid", static_cast<std::uint64_t>(report_.program.pid));
    json_.text("executable", report_.program.executable);
    write_arguments(report_.program.command);
    json_.key("time_ns");
    json_.value(report_.snapshot.time_ns);
    json_.end_object();
  }

  /// Writes the arguments in `command`, which '\0' separates. A final '\0' adds an empty argument.
  void write_arguments(std::string_view command) {
    json_.key("arguments");
    json_.begin_array();
    for (bool more = !command.empty(); more;) {
      const std::size_t end = command.find('\0');
      json_.string(command.substr(0, end));
      more = end != command.npos;
      command.remove_prefix(more ? end + 1 : command.size());
    }
    json_.end_array();
  }

  void write_backend() {
    json_.key("backend");
    json_.begin_object();
    json_.text("alloctap", kVersionString);
    json_.text("hook", report_.backend.hook);
    json_.text("stack", report_.backend.stack);
    json_.number("max_frames", report_.backend.max_frames);
    json_.text("symbolizer", report_.backend.symbolizer);
    json_.text("unseen", report_.backend.blind_spots);
    json_.end_object();
  }

  void write_sampling() {
    json_.key("sampling");
    json_.begin_object();
    json_.text("policy", report_.snapshot.sampling.policy.name);
    write_fields(json_, report_.snapshot.sampling);
    json_.end_object();
  }

  const Report& report_;
  JsonBuilder& json_;
};

/// Writes the size classes that have live blocks as an array.
inline void write_sizes(JsonBuilder& json, const SizeHistogram& sizes) {
  json.begin_array();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i].live_allocations == 0) continue;
    json.begin_object();
    json.number("min_bytes", least_size(i));
    json.number("max_bytes", greatest_size(i));
    write_fields(json, sizes[i]);
    json.end_object();
  }
  json.end_array();
}

/// Writes `timeline` as an array.
inline void write_timeline(JsonBuilder& json, const ArenaArray<TimelinePoint>& timeline) {
  json.begin_array();
  for (const TimelinePoint& point : timeline) {
    json.begin_object();
    write_fields(json, point);
    json.end_object();
  }
  json.end_array();
}

/// Writes `markers` as an array.
inline void write_markers(JsonBuilder& json, const ArenaArray<Marker>& markers) {
  json.begin_array();
  for (const Marker& marker : markers) {
    json.begin_object();
    json.key("time_ns");
    json.value(marker.time_ns);
    json.text("name", marker.name);
    json.end_object();
  }
  json.end_array();
}

/// Writes `peak` as an object. `write_frames(StackId)` writes a stack's member "frames".
template <class WriteFrames>
void write_peak(JsonBuilder& json, const Peak& peak, WriteFrames&& write_frames) {
  json.begin_object();
  json.key("time_ns");
  json.value(peak.time_ns);
  json.number("live_bytes", peak.live_bytes);
  json.key("stacks");
  json.begin_array();
  for (const PeakStackSummary& stack : peak.stacks) {
    json.begin_object();
    write_frames(stack.stack);
    write_fields(json, stack);
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

/// Writes `rule` as members of the open object.
inline void write_members(JsonBuilder& json, const SuppressionRule& rule) {
  json.text("subject", rule.subject);
  json.key("only");
  json.value(rule.only);
  json.text("pattern", rule.pattern);
  json.text("source", rule.source);
  json.number("line", rule.line);
}

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

/// Writes the enabled checks as an array of strings in the syntax of `parse_check_options`.
inline void write_checks(JsonBuilder& json, const CheckSettings& checks) {
  json.begin_array();
  for_each_active_check(checks, [&json](std::string_view name, std::uint64_t value) {
    json.string(check_text(name, value));
  });
  json.end_array();
}

/// Writes the statistics of guard pages; null if guard pages are off.
inline void write_guards(JsonBuilder& json, const GuardPageStats& guards) {
  if (guards.one_in == 0) return json.null();
  json.begin_object();
  write_fields(json, guards);
  json.end_object();
}

/// Writes `sum` as members of the open object.
inline void write_members(JsonBuilder& json, const MisuseSum& sum) {
  json.number("ways", sum.ways);
  json.number("times", sum.times);
}

/// Writes the sum of suppressed misuses and the number of misuses that each rule matched.
inline void write_suppressed(JsonBuilder& json, const Suppressions& suppressions,
                             const SortedMisuses& sorted) {
  json.key("suppressed");
  json.begin_object();
  write_members(json, sorted.suppressed);
  json.end_object();
  json.key("rules");
  json.begin_array();
  for (std::size_t i = 0; i < sorted.rules.size(); ++i) {
    json.begin_object();
    write_members(json, suppressions.misuse_rules()[i]);
    write_members(json, sorted.rules[i]);
    json.end_object();
  }
  json.end_array();
}

/// Writer of misuses as objects. `write_frames(stack)` writes a stack's member "frames".
template <class WriteFrames>
class JsonMisuses {
 public:
  JsonMisuses(JsonBuilder& json, WriteFrames write_frames) noexcept
      : json_(json), write_frames_(write_frames) {}

  /// Writes a misuse. `rule` is the number of the rule that suppresses the misuse, or `kNoRule`.
  void write(const CountedMisuse& counted, std::uint32_t rule) {
    const Misuse& misuse = counted.first;
    json_.begin_object();
    json_.text("kind", key_of(misuse.kind));
    json_.number("times", counted.times);
    json_.key("suppressed_by");
    json_.value_unless(rule, Suppressions::kNoRule);
    json_.number("address", misuse.address);
    json_.key("call");
    json_.string_or_null(gives_back(misuse) ? name_of(misuse.call) : std::string_view());
    write_stated("stated_size", misuse.stated_size);
    write_stated("stated_alignment", misuse.stated_alignment);
    write_stated("heap", os::number_of(misuse.heap));
    json_.key("found");
    write_call(misuse.found, misuse.by_sweep);
    json_.key("block");
    write_block(misuse);
    json_.key("changed");
    write_changed(misuse.changed);
    json_.key("access");
    write_access(misuse);
    json_.end_object();
  }

 private:
  static bool gives_back(const Misuse& misuse) noexcept {
    return !misuse.by_sweep && misuse.access.address == 0;
  }

  void write_stated(const char* name, std::uint64_t number) {
    json_.key(name);
    json_.value_unless(number, 0);
  }

  /// Writes the thread, time and stack of a call. Only differences of call times are meaningful,
  /// because the clock is monotonic.
  void write_call(const BlockCall& call, bool has_no_stack = false) {
    json_.begin_object();
    json_.number("thread", static_cast<std::uint64_t>(call.thread));
    json_.key("time_ns");
    json_.value(call.time_ns);
    write_frames_(has_no_stack ? kNoStackId : call.stack);
    json_.end_object();
  }

  void write_block(const Misuse& misuse) {
    const BlockHistory& block = misuse.block;
    if (!block.known) return json_.null();
    json_.begin_object();
    json_.number("address", block.address);
    json_.number("size", block.size);
    write_stated("alignment", block.alignment);
    json_.text("kind", name_of(block.kind));
    write_stated("heap", os::number_of(block.heap));
    json_.key("allocated");
    write_call(block.allocated);
    json_.key("freed");
    if (block.freed) {
      write_call(block.gone);
    } else {
      json_.null();
    }
    json_.key("freed_by");
    json_.string_or_null(block.freed ? name_of(block.freed_by) : std::string_view());
    json_.end_object();
  }

  void write_changed(const ChangedBytes& changed) {
    if (changed.count == 0) return json_.null();
    json_.begin_object();
    json_.number("count", changed.count);
    json_.key("first");
    json_.value(changed.first);
    json_.key("last");
    json_.value(changed.last);
    json_.number("expected", changed.expected);
    json_.key("found");
    json_.begin_array();
    for (std::size_t i = 0; i < changed.shown; ++i) {
      json_.value(std::uint64_t{changed.found[i]});
    }
    json_.end_array();
    json_.end_object();
  }

  void write_access(const Misuse& misuse) {
    const MemoryAccess& access = misuse.access;
    if (access.address == 0) return json_.null();
    json_.begin_object();
    json_.key("function");
    json_.string_or_null(access.function);
    json_.number("address", access.address);
    write_stated("bytes", access.bytes);
    json_.key("writes");
    json_.value(access.writes);
    write_stated("source", misuse.source);
    json_.end_object();
  }

  JsonBuilder& json_;
  WriteFrames write_frames_;
};

}  // namespace alloctap
