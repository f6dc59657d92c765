/// Parser of `JsonDump` files.
#pragma once

#include <rapidjson/allocators.h>
#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>
#include <rapidjson/stream.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/profile_diff.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// SAX handler of RapidJSON that fills a profile. Stores a module, frame or stack when its object
/// ends, so that a malformed file yields everything before the error. Ignores unknown keys. Strings
/// refer to the parsed text, which must stay in place.
class JsonEvents : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, JsonEvents> {
 public:
  enum class Problem : std::uint8_t {
    kNone,
    kForeign,
    kTooDeep,
    kNoMemory,
    kStackWithoutNumbers,
  };

  explicit JsonEvents(SavedProfile& profile) noexcept : profile_(profile) {}

  [[nodiscard]] Problem problem() const noexcept { return problem_; }
  [[nodiscard]] std::string_view schema() const noexcept { return schema_; }

  /// Returns the first required section that is missing; empty if all are present.
  [[nodiscard]] std::string_view missing_section() const noexcept {
    for (std::size_t i = 0; i < kSections.size(); ++i) {
      if ((sections_ >> i & 1) == 0) return kSections[i];
    }
    return {};
  }

  bool Default() noexcept { return true; }
  bool Uint(unsigned number) noexcept { return number_(number); }
  bool Uint64(std::uint64_t number) noexcept { return number_(number); }
  bool Bool(bool truth) noexcept {
    if (depth_ == 3 && keys_[2] == "outside_size_range") outside_size_range_ = truth;
    return true;
  }

  bool String(const char* text, rapidjson::SizeType length, bool) noexcept {
    if (depth_ == 1 && keys_[0] == "schema") return take_schema({text, length});
    Element* element = current();
    const auto* name = element == nullptr ? kTextNames.end() : find(kTextNames, keys_[depth_ - 1]);
    if (name != kTextNames.end()) element->texts[index_in(kTextNames, name)] = {text, length};
    return true;
  }

  bool Key(const char* text, rapidjson::SizeType length, bool) noexcept {
    keys_[depth_ - 1] = {text, length};
    const auto* section = depth_ == 1 ? find(kSections, keys_[0]) : kSections.end();
    if (section != kSections.end()) sections_ |= 1U << index_in(kSections, section);
    return true;
  }

  bool StartArray() noexcept { return enter(); }
  bool EndArray(rapidjson::SizeType) noexcept {
    --depth_;
    return true;
  }

  bool StartObject() noexcept {
    if (!enter()) return false;
    if (Element* element = current()) *element = {};
    if (depth_ == 3) {
      first_source_ = profile_.sources.size();
      first_frame_ = profile_.frame_numbers.size();
      outside_size_range_ = false;
    }
    return true;
  }

  bool EndObject(rapidjson::SizeType) noexcept {
    const bool kept = keep();
    --depth_;
    return kept || stop(Problem::kNoMemory);
  }

 private:
  enum Number : std::uint8_t {
    kAddress,
    kModule,
    kOffset,
    kLine,
    kStart,
    kEnd,
    kBias,
    kAllocations,
    kAllocatedBytes,
    kLiveAllocations,
    kLiveBytes,
    kTemporaryAllocations,
    kDeallocations,
    kPeakLiveBytes,
    kPid,
    kTime,
    kNumbers
  };
  enum Text : std::uint8_t { kPath, kBuildId, kFunction, kFile, kExecutable, kTag, kTexts };

  static constexpr std::array<std::string_view, kNumbers> kNumberNames{"address",
                                                                       "module",
                                                                       "offset",
                                                                       "line",
                                                                       "start",
                                                                       "end",
                                                                       "bias",
                                                                       "allocations",
                                                                       "allocated_bytes",
                                                                       "live_allocations",
                                                                       "live_bytes",
                                                                       "temporary_allocations",
                                                                       "deallocations",
                                                                       "peak_live_bytes",
                                                                       "pid",
                                                                       "time_ns"};
  static constexpr std::array<std::string_view, kTexts> kTextNames{"path", "build_id",   "function",
                                                                   "file", "executable", "tag"};
  static constexpr std::array<std::string_view, 5> kSections{"program", "totals", "modules",
                                                             "frames", "stacks"};
  static constexpr std::uint32_t kStackNumbers = 1U << kAllocations | 1U << kAllocatedBytes |
                                                 1U << kLiveAllocations | 1U << kLiveBytes |
                                                 1U << kTemporaryAllocations;
  static constexpr std::size_t kDepth = 16;

  /// The values of an object's known members.
  struct Element {
    std::array<std::uint64_t, kNumbers> numbers{};
    std::array<std::string_view, kTexts> texts{};
    /// Bit mask of the numeric members that were present.
    std::uint32_t seen = 0;

    [[nodiscard]] bool has(Number number) const noexcept { return (seen >> number & 1) != 0; }
    [[nodiscard]] SourceFrame source() const noexcept {
      return {.function = texts[kFunction],
              .file = texts[kFile],
              .line = static_cast<std::uint32_t>(numbers[kLine])};
    }
  };

  template <class Names>
  static const std::string_view* find(const Names& names, std::string_view name) noexcept {
    return std::find(names.begin(), names.end(), name);
  }
  template <class Names>
  static std::size_t index_in(const Names& names, const std::string_view* name) noexcept {
    return static_cast<std::size_t>(name - names.begin());
  }

  bool stop(Problem problem) noexcept {
    if (problem_ == Problem::kNone) problem_ = problem;
    return false;
  }

  bool enter() noexcept {
    if (depth_ == kDepth) return stop(Problem::kTooDeep);
    keys_[depth_++] = {};
    return true;
  }

  bool take_schema(std::string_view schema) noexcept {
    schema_ = schema;
    return schema.starts_with("alloctap.heap/") || stop(Problem::kForeign);
  }

  [[nodiscard]] bool in_frame_numbers() const noexcept {
    return depth_ == 4 && keys_[0] == "stacks" && keys_[2] == "frames";
  }
  [[nodiscard]] bool in_inlined() const noexcept {
    return depth_ == 5 && keys_[0] == "frames" && keys_[2] == "inlined";
  }

  /// Returns the storage for the innermost object's members, or nullptr if the object is unknown.
  Element* current() noexcept {
    if (depth_ == 2 || depth_ == 3) return &element_;
    return in_inlined() ? &inlined_ : nullptr;
  }

  bool number_(std::uint64_t number) noexcept {
    if (in_frame_numbers()) {
      return profile_.frame_numbers.push_back(number) || stop(Problem::kNoMemory);
    }
    Element* element = current();
    if (element == nullptr) return true;
    const auto* name = find(kNumberNames, keys_[depth_ - 1]);
    if (name == kNumberNames.end()) return true;
    const std::size_t index = index_in(kNumberNames, name);
    element->numbers[index] = number;
    element->seen |= 1U << index;
    return true;
  }

  /// Stores the object that ends, if it is a known kind of object. Returns false if out of memory.
  bool keep() noexcept {
    const std::string_view section = keys_[0];
    if (in_inlined()) return profile_.sources.push_back(inlined_.source());
    if (depth_ == 2 && section == "program") keep_program();
    if (depth_ == 2 && section == "totals") keep_totals();
    if (depth_ != 3) return true;
    if (section == "modules") return keep_module();
    if (section == "frames") return keep_frame();
    return section != "stacks" || keep_stack();
  }

  void keep_program() noexcept {
    profile_.pid = element_.numbers[kPid];
    profile_.time_ns = element_.numbers[kTime];
    profile_.executable = element_.texts[kExecutable];
  }

  void keep_totals() noexcept {
    const auto& numbers = element_.numbers;
    profile_.totals = {.allocations = numbers[kAllocations],
                       .deallocations = numbers[kDeallocations],
                       .allocated_bytes = numbers[kAllocatedBytes],
                       .live_allocations = numbers[kLiveAllocations],
                       .live_bytes = numbers[kLiveBytes],
                       .peak_live_bytes = numbers[kPeakLiveBytes],
                       .temporary_allocations = numbers[kTemporaryAllocations]};
  }

  bool keep_module() noexcept {
    Module module;
    module.start = element_.numbers[kStart];
    module.end = element_.numbers[kEnd];
    module.bias = element_.numbers[kBias];
    module.path = element_.texts[kPath];
    module.has_code = true;
    const std::string_view digits = element_.texts[kBuildId];
    for (std::size_t i = 0; i + 1 < digits.size() && i / 2 < sizeof module.build_id; i += 2) {
      std::uint8_t byte = 0;
      std::from_chars(digits.data() + i, digits.data() + i + 2, byte, 16);
      module.build_id[i / 2] = std::byte{byte};
      module.build_id_bytes = i / 2 + 1;
    }
    return profile_.modules.push_back(module);
  }

  bool keep_frame() noexcept {
    const SourceFrame source = element_.source();
    const bool known =
        !source.function.empty() || !source.file.empty() || profile_.sources.size() > first_source_;
    if (known && !profile_.sources.push_back(source)) return false;
    return profile_.frames.push_back(
        {.address = element_.numbers[kAddress],
         .module = element_.has(kModule) ? element_.numbers[kModule] : SavedFrame::kNoModule,
         .offset = element_.numbers[kOffset],
         .first_source = first_source_,
         .sources = profile_.sources.size() - first_source_});
  }

  bool keep_stack() noexcept {
    if ((element_.seen & kStackNumbers) != kStackNumbers) {
      // Drops only this stack, because the other stacks may be valid.
      static_cast<void>(stop(Problem::kStackWithoutNumbers));
      return true;
    }
    const auto& numbers = element_.numbers;
    return profile_.stacks.push_back(
        {.sums = {.total = {.allocations = numbers[kAllocations],
                            .allocated_bytes = numbers[kAllocatedBytes],
                            .temporary_allocations = numbers[kTemporaryAllocations]},
                  .live_allocations = numbers[kLiveAllocations],
                  .live_bytes = numbers[kLiveBytes]},
         .first_frame = first_frame_,
         .frames = profile_.frame_numbers.size() - first_frame_,
         .outside_size_range = outside_size_range_,
         .tag = element_.texts[kTag]});
  }

  SavedProfile& profile_;
  /// The current key of each open container.
  std::array<std::string_view, kDepth> keys_{};
  std::size_t depth_ = 0;
  Element element_;
  Element inlined_;
  std::size_t first_source_ = 0;
  std::size_t first_frame_ = 0;
  bool outside_size_range_ = false;
  std::string_view schema_;
  /// Bit mask of the sections that were present.
  std::uint32_t sections_ = 0;
  Problem problem_ = Problem::kNone;
};

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
