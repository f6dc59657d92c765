/// Streaming writer of a pprof profile: protocol buffers through gzip to an output.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <protozero/basic_pbf_builder.hpp>
#include <protozero/buffer_tmpl.hpp>
#include <protozero/types.hpp>
#include <string_view>

#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/dump/export/frame_labels.hpp"
#include "alloctap/dump/export/function_numbers.hpp"
#include "alloctap/dump/export/gzip_stream.hpp"
#include "alloctap/dump/named_stacks.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/text_pool.hpp"

namespace alloctap {

/// Buffer type of `protozero::basic_pbf_writer`, in arena memory. Drops its content if out of
/// memory, because only an exception could report the failure to protozero. Move-only; not
/// thread-safe.
class ProtobufBuffer {
 public:
  /// Returns false if bytes were dropped because memory ran out.
  [[nodiscard]] bool complete() const noexcept { return complete_; }

  /// Returns the bytes. Precondition: no nested message is open.
  [[nodiscard]] std::string_view bytes() const noexcept {
    return complete_ ? std::string_view(bytes_.data(), size_) : std::string_view();
  }

  /// Removes all bytes. Precondition: no nested message is open.
  void clear() noexcept { size_ = 0; }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  void append(const char* data, std::size_t count) noexcept {
    // An empty text may have a null pointer, which memcpy does not allow.
    if (count > 0 && reserve(count)) std::memcpy(bytes_.data() + size_, data, count);
    size_ += count;
  }

  void append_zeros(std::size_t count) noexcept {
    if (count > 0 && reserve(count)) std::memset(bytes_.data() + size_, 0, count);
    size_ += count;
  }

  void push_back(char character) noexcept { append(&character, 1); }

  void resize(std::size_t size) noexcept { size_ = size; }

  void erase_range(std::size_t from, std::size_t to) noexcept {
    if (complete_) std::memmove(bytes_.data() + from, bytes_.data() + to, size_ - to);
    size_ -= to - from;
  }

  /// Returns the address at which protozero later writes a message's length.
  [[nodiscard]] char* at(std::size_t position) noexcept {
    return complete_ ? bytes_.data() + position : nowhere_.data();
  }

  [[nodiscard]] bool reserve(std::size_t count) noexcept {
    if (complete_ && size_ + count > bytes_.capacity()) {
      complete_ = bytes_.resize(std::max(bytes_.capacity() * 2, size_ + count));
    }
    return complete_;
  }

 private:
  static constexpr std::size_t kLongestNumber = 16;

  /// `bytes_.size()` is meaningless, because bytes beyond `size_` are spare capacity.
  ArenaArray<char> bytes_;
  std::size_t size_ = 0;
  bool complete_ = true;
  std::array<char, kLongestNumber> nowhere_{};
};

}  // namespace alloctap

namespace protozero {

/// The customization point through which protozero uses a `ProtobufBuffer`.
template <>
struct buffer_customization<alloctap::ProtobufBuffer> {
  using Buffer = alloctap::ProtobufBuffer;

  static std::size_t size(const Buffer* buffer) noexcept { return buffer->size(); }
  static void append(Buffer* buffer, const char* data, std::size_t count) noexcept {
    buffer->append(data, count);
  }
  static void append_zeros(Buffer* buffer, std::size_t count) noexcept {
    buffer->append_zeros(count);
  }
  static void resize(Buffer* buffer, std::size_t size) noexcept { buffer->resize(size); }
  static void reserve_additional(Buffer* buffer, std::size_t size) noexcept {
    static_cast<void>(buffer->reserve(size));
  }
  static void erase_range(Buffer* buffer, std::size_t from, std::size_t to) noexcept {
    buffer->erase_range(from, to);
  }
  static char* at_pos(Buffer* buffer, std::size_t position) noexcept {
    return buffer->at(position);
  }
  static void push_back(Buffer* buffer, char character) noexcept { buffer->push_back(character); }
};

}  // namespace protozero

namespace alloctap::pprof {

// The fields of the messages in pprof's profile.proto.

enum class Profile : protozero::pbf_tag_type {
  kSampleType = 1,
  kSample = 2,
  kMapping = 3,
  kLocation = 4,
  kFunction = 5,
  kStringTable = 6,
  kTimeNanos = 9,
  kPeriodType = 11,
  kPeriod = 12,
  kComment = 13,
  kDefaultSampleType = 14,
};

enum class ValueType : protozero::pbf_tag_type { kType = 1, kUnit = 2 };

enum class Sample : protozero::pbf_tag_type { kLocationId = 1, kValue = 2, kLabel = 3 };

enum class Label : protozero::pbf_tag_type { kKey = 1, kText = 2, kNumber = 3, kUnit = 4 };

enum class Mapping : protozero::pbf_tag_type {
  kId = 1,
  kMemoryStart = 2,
  kMemoryLimit = 3,
  kFilename = 5,
  kBuildId = 6,
  kHasFunctions = 7,
  kHasFilenames = 8,
  kHasLineNumbers = 9,
  kHasInlineFrames = 10,
};

enum class Location : protozero::pbf_tag_type { kId = 1, kMappingId = 2, kAddress = 3, kLine = 4 };

enum class Line : protozero::pbf_tag_type { kFunctionId = 1, kLine = 2 };

enum class Function : protozero::pbf_tag_type { kId = 1, kName = 2, kFilename = 4 };

template <class Message>
using Builder = protozero::basic_pbf_builder<ProtobufBuffer, Message>;

/// Streaming writer of a profile's fields, which also numbers the profile's strings. The strings
/// must outlive this object. Uses arena memory. Not thread-safe.
class Stream {
 public:
  explicit Stream(DumpWriter& out) : out_(out), gzip_(out) {
    // The first string of the table must be the empty one.
    static_cast<void>(text(""));
  }

  /// Adds a message to `field` of the profile. `fill(Builder<Message>&)` writes the message.
  template <class Message, class Fill>
  void add_message(Profile field, Fill&& fill) {
    {
      Builder<Message> message(profile_, field);
      fill(message);
    }
    if (buffer_.size() >= kPieceBytes) pass_on();
  }

  void add_number(Profile field, std::int64_t number) { profile_.add_int64(field, number); }

  /// Returns the index of `text` in the profile's string table.
  [[nodiscard]] std::int64_t text(std::string_view text) {
    const std::uint32_t number = texts_.number_of(text);
    if (number == TextNumbers::kNone) fail();
    return number;
  }

  /// Records that memory ran out, so that `finish` makes the dump fail.
  void fail() noexcept { complete_ = false; }

  [[nodiscard]] bool complete() const noexcept { return complete_ && buffer_.complete(); }

  /// Writes the string table and the rest of the buffer.
  void finish() {
    for (const std::string_view text : texts_.texts()) add_text(text);
    pass_on();
    gzip_.finish();
    if (!complete()) out_.fail("pprof: the system has no memory for it");
  }

 private:
  static constexpr std::size_t kPieceBytes = 64 * 1024;

  void pass_on() {
    gzip_.write(buffer_.bytes());
    buffer_.clear();
  }

  /// Writes a string as valid UTF-8: strict readers refuse anything else.
  void add_text(std::string_view text) {
    if (!utf8_.resize(3 * text.size())) return fail();
    const std::size_t length = copy_as_utf8(text, utf8_.data(), utf8_.size());
    profile_.add_string(Profile::kStringTable, utf8_.data(), length);
    if (buffer_.size() >= kPieceBytes) pass_on();
  }

  DumpWriter& out_;
  GzipStream gzip_;
  ProtobufBuffer buffer_;
  Builder<Profile> profile_{buffer_};
  TextNumbers texts_;
  ArenaArray<char> utf8_;
  bool complete_ = true;
};

/// Writer of the mappings, locations and functions that samples refer to. The report, its labels
/// and the stream must outlive this object.
class Code {
 public:
  Code(const Report& report, const FrameLabels& labels, Stream& stream)
      : report_(report), labels_(labels), stream_(stream) {}

  /// Returns the location id of `frame` in `stack`: the call's number plus 1. The two ids after
  /// those of all calls are for the placeholder frames of unknown stacks and of stacks not taken.
  [[nodiscard]] std::uint64_t location_of(const LabelledFrame& frame, StackId stack) {
    if (frame.place != LabelledFrame::kNoPlace) return frame.place + 1;
    const std::size_t kind = stack == kStackNotTaken ? 1 : 0;
    stand_ins_[kind] = frame.label;
    return labels_.list().size() + 1 + kind;
  }

  /// Writes mappings, locations and functions. Call it after all samples were written.
  void write() {
    write_mappings();
    for (std::size_t place = 0; place < labels_.list().size(); ++place) write_location(place);
    write_stand_ins();
    write_functions();
  }

 private:
  struct NamesKnown {
    bool functions = false;
    bool inlined = false;
  };

  [[nodiscard]] NamesKnown names_known() const {
    NamesKnown known;
    for (std::size_t i = 0; i < labels_.list().size(); ++i) {
      for (const SourceFrame& frame : labels_.list().source(i)) {
        known.functions = known.functions || !frame.function.empty();
      }
      known.inlined = known.inlined || labels_.list().source(i).size() > 1;
    }
    return known;
  }

  /// Writes the executable first, because readers take the first mapping for the main program.
  void write_mappings() {
    const NamesKnown known = names_known();
    for (const bool program : {true, false}) {
      for (const Module& module : report_.modules.modules()) {
        if ((module.path == report_.program.executable) == program) write_mapping(module, known);
      }
    }
  }

  [[nodiscard]] std::uint64_t id_of(const Module& module) const noexcept {
    return report_.modules.index_of(module) + 1;
  }

  void write_mapping(const Module& module, const NamesKnown& known) {
    const std::string_view build_id = build_ids_.keep(BuildIdText(module).view());
    if (build_id.empty() && module.build_id_bytes > 0) stream_.fail();
    stream_.add_message<Mapping>(Profile::kMapping, [&](Builder<Mapping>& mapping) {
      mapping.add_uint64(Mapping::kId, id_of(module));
      mapping.add_uint64(Mapping::kMemoryStart, module.start);
      mapping.add_uint64(Mapping::kMemoryLimit, module.end);
      mapping.add_int64(Mapping::kFilename, stream_.text(module.path));
      mapping.add_int64(Mapping::kBuildId, stream_.text(build_id));
      mapping.add_bool(Mapping::kHasFunctions, known.functions);
      mapping.add_bool(Mapping::kHasFilenames, known.functions);
      mapping.add_bool(Mapping::kHasLineNumbers, known.functions);
      mapping.add_bool(Mapping::kHasInlineFrames, known.inlined);
    });
  }

  void write_location(std::size_t place) {
    const auto [address, module] = labels_.list().place(place);
    stream_.add_message<Location>(Profile::kLocation, [&](Builder<Location>& location) {
      location.add_uint64(Location::kId, place + 1);
      if (module != nullptr) location.add_uint64(Location::kMappingId, id_of(*module));
      location.add_uint64(Location::kAddress, address);
      for (const LabelledFrame& frame : labels_.at(place)) write_line(location, frame);
    });
  }

  void write_stand_ins() {
    for (std::size_t kind = 0; kind < stand_ins_.size(); ++kind) {
      if (stand_ins_[kind].empty()) continue;
      stream_.add_message<Location>(Profile::kLocation, [&](Builder<Location>& location) {
        location.add_uint64(Location::kId, labels_.list().size() + 1 + kind);
        write_line(location, {.label = stand_ins_[kind]});
      });
    }
  }

  void write_line(Builder<Location>& location, const LabelledFrame& frame) {
    Builder<Line> line(location, Location::kLine);
    line.add_uint64(Line::kFunctionId, function_of(frame));
    line.add_int64(Line::kLine, frame.line);
  }

  [[nodiscard]] std::uint64_t function_of(const LabelledFrame& frame) {
    const std::uint32_t number = functions_.number_of(frame);
    if (number == FunctionNumbers::kNone) stream_.fail();
    return number + std::uint64_t{1};
  }

  void write_functions() {
    std::uint64_t id = 0;
    for (const FunctionNumbers::Function& known : functions_.functions()) {
      ++id;
      stream_.add_message<Function>(Profile::kFunction, [&](Builder<Function>& function) {
        function.add_uint64(Function::kId, id);
        function.add_int64(Function::kName, stream_.text(known.label));
        function.add_int64(Function::kFilename, stream_.text(known.file));
      });
    }
  }

  const Report& report_;
  const FrameLabels& labels_;
  Stream& stream_;
  TextPool build_ids_;
  FunctionNumbers functions_;
  std::array<std::string_view, 2> stand_ins_{};
};

}  // namespace alloctap::pprof
