/// The part of schema alloctap.heap/1 that is about misuse of memory.
#pragma once

#include <cstdint>
#include <string_view>

#include "alloctap/check/call_names.hpp"
#include "alloctap/check/misuse_log.hpp"
#include "alloctap/dump/json_builder.hpp"

namespace alloctap {

/// What `misuses[].kind` is.
[[nodiscard]] constexpr std::string_view json_name_of(MisuseKind kind) noexcept {
  switch (kind) {
    case MisuseKind::kDoubleFree:
      return "double_free";
    case MisuseKind::kUnknownPointer:
      return "unknown_pointer";
    case MisuseKind::kInteriorPointer:
      return "interior_pointer";
    case MisuseKind::kKindMismatch:
      return "mismatched_release";
    case MisuseKind::kWrongSize:
      return "wrong_size";
    case MisuseKind::kWrongAlignment:
      return "wrong_alignment";
    case MisuseKind::kWriteBefore:
      return "write_before";
    case MisuseKind::kWriteBehind:
      return "write_behind";
    case MisuseKind::kWriteAfterFree:
      return "write_after_free";
  }
  return "misuse";
}

/// Writes faults as objects; `WriteFrames(json, stack)` writes the member `frames`.
template <class WriteFrames>
class JsonMisuses {
 public:
  JsonMisuses(JsonBuilder& json, WriteFrames write_frames) noexcept
      : json_(json), write_frames_(write_frames) {}

  void write(const CountedMisuse& counted) {
    const Misuse& misuse = counted.first;
    json_.begin_object();
    json_.text("kind", json_name_of(misuse.kind));
    json_.number("times", counted.times);
    json_.number("address", misuse.address);
    json_.key("call");
    json_.string_or_null(misuse.by_sweep ? std::string_view() : name_of(misuse.call));
    write_stated("stated_size", misuse.stated_size);
    write_stated("stated_alignment", misuse.stated_alignment);
    json_.key("found");
    write_call(misuse.found, misuse.by_sweep);
    json_.key("block");
    write_block(misuse);
    json_.key("changed");
    write_changed(misuse.changed);
    json_.end_object();
  }

 private:
  void write_stated(const char* name, std::uint64_t number) {
    json_.key(name);
    json_.value_unless(number, 0);
  }

  /// Nanoseconds are of a clock of their own: differences mean something.
  void write_call(const BlockCall& call, bool has_no_stack = false) {
    json_.begin_object();
    json_.number("thread", static_cast<std::uint64_t>(call.thread));
    json_.key("time_ns");
    json_.value(call.time_ns);
    write_frames_(has_no_stack ? kNoStackId : call.stack);
    json_.end_object();
  }

  void write_block(const Misuse& misuse) {
    const BlockStory& block = misuse.block;
    if (!block.known) return json_.null();
    json_.begin_object();
    json_.number("address", block.address);
    json_.number("size", block.size);
    write_stated("alignment", block.alignment);
    json_.text("kind", name_of(block.kind));
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

  JsonBuilder& json_;
  WriteFrames write_frames_;
};

}  // namespace alloctap
