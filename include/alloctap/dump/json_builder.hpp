/// JSON through RapidJSON, without the host's allocator.
#pragma once

#include <rapidjson/allocators.h>
#include <rapidjson/writer.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/dump/json_text.hpp"

namespace alloctap {

/// Writes one JSON value piece by piece; the caller keeps objects and arrays balanced and no deeper
/// than `kDepth`. Not thread-safe.
class JsonBuilder {
 public:
  /// Longer strings are cut, in bytes.
  static constexpr std::size_t kLongestString = 16 * 1024;
  static constexpr std::size_t kDepth = 16;

  explicit JsonBuilder(DumpWriter& out) : stream_{out}, json_(stream_, &levels_, kDepth) {}

  void begin_object() { json_.StartObject(); }
  void end_object() { json_.EndObject(); }
  void begin_array() { json_.StartArray(); }
  void end_array() { json_.EndArray(); }
  void key(const char* name) { json_.Key(name); }
  void null() { json_.Null(); }
  void value(std::uint64_t number) { json_.Uint64(number); }
  void value(std::int64_t number) { json_.Int64(number); }
  void value(bool truth) { json_.Bool(truth); }

  void value_or_null(const std::optional<std::uint64_t>& number) {
    if (number) {
      value(*number);
    } else {
      null();
    }
  }

  /// null where `number` is the one that means nothing.
  void value_unless(std::uint64_t number, std::uint64_t nothing) {
    if (number == nothing) {
      null();
    } else {
      value(number);
    }
  }

  void number(const char* name, std::uint64_t number) {
    key(name);
    value(number);
  }

  void text(const char* name, std::string_view text) {
    key(name);
    string(text);
  }

  /// What is not UTF-8 in `text` becomes U+FFFD.
  void string(std::string_view text) {
    const std::size_t length = copy_as_utf8(text.substr(0, kLongestString), utf8_, sizeof utf8_);
    json_.String(utf8_, static_cast<rapidjson::SizeType>(length));
  }

  void string_or_null(std::string_view text) {
    if (text.empty()) {
      null();
    } else {
      string(text);
    }
  }

 private:
  struct Stream {
    using Ch = char;
    DumpWriter& out;
    void Put(char character) { out << character; }
    void Flush() {}
  };

  /// RapidJSON keeps its nesting levels in this buffer.
  using Levels = rapidjson::MemoryPoolAllocator<>;
  using Json = rapidjson::Writer<Stream, rapidjson::UTF8<>, rapidjson::UTF8<>, Levels>;

  static constexpr std::size_t kLevelBytes = 4096;

  Stream stream_;
  char level_buffer_[kLevelBytes];
  Levels levels_{level_buffer_, sizeof level_buffer_};
  Json json_;
  char utf8_[3 * kLongestString];
};

}  // namespace alloctap
