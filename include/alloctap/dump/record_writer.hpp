/// Writer of the tables of a recording.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <type_traits>

#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/dump/record_format.hpp"
#include "alloctap/runtime/cut_text.hpp"

namespace alloctap {

/// Writer of a recording. Rows come between `begin_table` and `end_table`. Each row must have one
/// value of the right kind for each column. Cuts texts after `kLongestRecordText` bytes.
class RecordWriter {
 public:
  explicit RecordWriter(DumpWriter& out) : out_(out) {
    out_ << kRecordMagic;
    number(kRecordVersion);
  }

  /// Begins a table with the columns `first`, `shared` (common to several tables) and `rest`.
  void begin_table(std::string_view name, std::initializer_list<RecordColumn> first,
                   std::span<const RecordColumn> shared = {},
                   std::initializer_list<RecordColumn> rest = {}) {
    text(name);
    number(first.size() + shared.size() + rest.size());
    for (const RecordColumn& column : first) write_column(column);
    for (const RecordColumn& column : shared) write_column(column);
    for (const RecordColumn& column : rest) write_column(column);
  }

  void end_table() { number(0); }

  template <class... Values>
  void row(const Values&... values) {
    begin_row();
    (value(values), ...);
  }

  /// Begins a row. One value for each column must follow.
  void begin_row() { number(1); }

  void number(std::uint64_t value) {
    char bytes[10];
    std::size_t size = 0;
    for (; value >= 0x80; value >>= 7) bytes[size++] = static_cast<char>(value | 0x80);
    bytes[size++] = static_cast<char>(value);
    out_ << std::string_view(bytes, size);
  }

  /// Writes a signed or unsigned number, depending on its type.
  template <std::integral Number>
  void value(Number value) {
    if constexpr (std::is_signed_v<Number>) {
      number(to_zigzag(value));
    } else {
      number(value);
    }
  }
  void value(std::string_view value) { text(value); }

  void text(std::string_view value) {
    value = cut_text(value, kLongestRecordText);
    number(value.size());
    out_ << value;
  }

  /// Begins a list. `size` numbers, at most `kLongestRecordList`, must follow.
  void begin_list(std::size_t size) { number(size); }

  /// Writes the table `kRecordEnd`, which ends the recording.
  void finish() {
    begin_table(kRecordEnd, {});
    end_table();
  }

 private:
  void write_column(const RecordColumn& column) {
    out_ << static_cast<char>(column.kind);
    text(column.name);
  }

  DumpWriter& out_;
};

}  // namespace alloctap
