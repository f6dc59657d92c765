/// JSON writer on top of RapidJSON that allocates nothing from the program's heap.
#pragma once

#include <rapidjson/allocators.h>
#include <rapidjson/writer.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/runtime/text_bytes.hpp"

namespace alloctap {

/// Writer of one JSON value, token by token. The caller balances objects and arrays and nests them
/// at most `kDepth` deep. Not thread-safe.
class JsonBuilder {
 public:
  /// The maximum length of a string in bytes. Longer strings are cut.
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

  /// Writes null if `number` equals `nothing`, else `number`.
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

  /// Writes a string; bytes that are not valid UTF-8 become U+FFFD.
  void string(std::string_view text) {
    const std::size_t length = copy_as_utf8(cut_text(text, kLongestString), utf8_, sizeof utf8_);
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

  /// Allocates RapidJSON's stack of nesting levels in `level_buffer_`.
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
