/// Streaming writer of a pprof profile: protocol buffers through gzip to an output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <protozero/basic_pbf_builder.hpp>
#include <protozero/types.hpp>
#include <string_view>

#include "alloctap/dump/gzip_stream.hpp"
#include "alloctap/dump/json_text.hpp"
#include "alloctap/dump/protobuf_buffer.hpp"
#include "alloctap/dump/text_numbers.hpp"

namespace alloctap::pprof {

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

}  // namespace alloctap::pprof
