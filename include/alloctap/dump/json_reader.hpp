/// Parser of `JsonDump` files.
#pragma once

#include <rapidjson/allocators.h>
#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>
#include <rapidjson/stream.h>

#include <cstddef>
#include <string_view>
#include <utility>

#include "alloctap/dump/json_events.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/saved_profile.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// Parser of reports of schema alloctap.heap/1. On an error, the status describes the error and the
/// profile keeps what was read before. If the schema is another one, reads the known keys; if the
/// file names no schema, reads nothing. Indices of frames and modules in a profile are always
/// valid. Control plane. Uses arena memory. Needs RapidJSON (CMake target alloctap::json_dump).
class JsonReader {
 public:
  /// Takes ownership of `text`, a whole file, and modifies it.
  [[nodiscard]] static Status read(ArenaArray<char> text, SavedProfile& profile) {
    JsonReader reader(profile);
    profile.text = std::move(text);
    const Status status = reader.parse();
    const bool complete = reader.drop_bad_references();
    if (!status.ok() || complete) return status;
    return Status::data_loss("is damaged: stacks or frames refer to what is not there");
  }

 private:
  explicit JsonReader(SavedProfile& profile) noexcept : profile_(profile), events_(profile) {}

  /// Parses in place and without recursion, because a file may nest arbitrarily deep.
  static constexpr unsigned kFlags = rapidjson::kParseInsituFlag | rapidjson::kParseIterativeFlag;

  Status parse() {
    const std::size_t size = profile_.text.size();
    if (!profile_.text.push_back('\0')) return no_memory();
    // The parser's stack takes one or two bytes for each open container.
    char levels[4096];
    rapidjson::MemoryPoolAllocator<> allocator(levels, sizeof levels);
    rapidjson::GenericReader<rapidjson::UTF8<>, rapidjson::UTF8<>, rapidjson::MemoryPoolAllocator<>>
        reader(&allocator, 512);
    rapidjson::InsituStringStream stream(profile_.text.data());
    const rapidjson::ParseResult result = reader.Parse<kFlags>(stream, events_);
    return result.IsError() ? explain(result, size) : check_whole();
  }

  Status explain(const rapidjson::ParseResult& result, std::size_t size) {
    switch (events_.problem()) {
      case JsonEvents::Problem::kForeign:
        return foreign();
      case JsonEvents::Problem::kNoMemory:
        return no_memory();
      case JsonEvents::Problem::kTooDeep:
        return damaged(result.Offset(), "it nests deeper than any report");
      case JsonEvents::Problem::kStackWithoutNumbers:
      case JsonEvents::Problem::kNone:
        break;
    }
    if (events_.schema().empty()) return foreign();
    if (result.Offset() >= size) {
      return Status::data_loss("is cut short: its text ends after ", size,
                               " bytes, in the middle; all before was read");
    }
    return damaged(result.Offset(), rapidjson::GetParseError_En(result.Code()));
  }

  /// Checks the schema and the sections of a file that is valid JSON.
  Status check_whole() {
    const std::string_view schema = events_.schema();
    if (schema.empty()) return foreign();
    if (schema != "alloctap.heap/1") {
      return Status::unimplemented("has the schema ", schema,
                                   ", not alloctap.heap/1; what is called as in that was read");
    }
    if (events_.problem() == JsonEvents::Problem::kStackWithoutNumbers) {
      return Status::data_loss(
          "is damaged: a stack has not all of its numbers; the others were read");
    }
    const std::string_view missing = events_.missing_section();
    if (missing.empty()) return Status();
    return Status::data_loss("is damaged: there is no \"", missing, "\" in it");
  }

  Status foreign() {
    ArenaArray<char> text = std::move(profile_.text);
    profile_ = {};
    profile_.text = std::move(text);
    return Status::invalid_argument(
        "is no report of alloctap in JSON: it does not say the schema alloctap.heap/1");
  }

  static Status damaged(std::size_t offset, std::string_view reason) {
    return Status::data_loss("is damaged at byte ", offset, ": ", reason, "; all before was read");
  }

  static Status no_memory() {
    return Status::resource_exhausted("cannot be read: the system has no memory for it");
  }

  /// Removes indices of missing modules and frames. Returns true if all indices were valid.
  bool drop_bad_references() noexcept {
    bool sound = true;
    for (SavedFrame& frame : profile_.frames) {
      if (frame.module == SavedFrame::kNoModule || frame.module < profile_.modules.size()) continue;
      frame.module = SavedFrame::kNoModule;
      sound = false;
    }
    for (SavedStack& stack : profile_.stacks) {
      for (const std::uint64_t frame : profile_.frames_of(stack)) {
        if (frame < profile_.frames.size()) continue;
        stack.frames = 0;
        sound = false;
        break;
      }
    }
    return sound;
  }

  SavedProfile& profile_;
  JsonEvents events_;
};

}  // namespace alloctap
