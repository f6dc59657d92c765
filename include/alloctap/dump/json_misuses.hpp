/// Memory misuse in schema alloctap.heap/1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/check/active_checks.hpp"
#include "alloctap/check/call_names.hpp"
#include "alloctap/check/check_settings.hpp"
#include "alloctap/check/guard_page_stats.hpp"
#include "alloctap/check/misuse_keys.hpp"
#include "alloctap/check/misuse_log.hpp"
#include "alloctap/dump/check_text.hpp"
#include "alloctap/dump/json_builder.hpp"
#include "alloctap/dump/json_fields.hpp"
#include "alloctap/dump/json_rules.hpp"
#include "alloctap/snapshot/sorted_misuses.hpp"
#include "alloctap/snapshot/suppressions.hpp"

namespace alloctap {

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
