/// Streaming writer of a pprof profile: protocol buffers through gzip to an output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <protozero/basic_pbf_builder.hpp>
#include <string_view>

#include "alloctap/dump/gzip_stream.hpp"
#include "alloctap/dump/json_text.hpp"
#include "alloctap/dump/pprof_fields.hpp"
#include "alloctap/dump/protobuf_buffer.hpp"
#include "alloctap/dump/text_numbers.hpp"

namespace alloctap::pprof {

template <class Message>
using Builder = protozero::basic_pbf_builder<ProtobufBuffer, Message>;

/// Writes the fields of a profile one after the other, and numbers its strings. Uses arena memory;
/// strings must outlive it. Not thread-safe.
class Stream {
 public:
  explicit Stream(DumpWriter& out) : out_(out), gzip_(out) {
    // The first string of the table must be the empty one.
    static_cast<void>(text(""));
  }

  /// Adds a message of the profile at `field`; `fill(Builder<Message>&)` writes its fields.
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

  /// Notes that memory ran out; `finish` then fails the dump.
  void fail() noexcept { complete_ = false; }

  [[nodiscard]] bool complete() const noexcept { return complete_ && buffer_.complete(); }

  /// Writes the string table and what is still buffered.
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
