/// Parser of the tables of a recording.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "alloctap/dump/record_format.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// Iterator over the tables and rows of a recording. Stops at the first malformed byte, so input
/// may be untrusted. The recording must outlive this object. Control plane; lists are arena memory.
class RecordReader {
 public:
  explicit RecordReader(std::string_view record) noexcept : record_(record), rest_(record) {}

  /// Reads the header. Returns an error for data that are no recording or have a newer version.
  [[nodiscard]] Status open() {
    if (!rest_.starts_with(kRecordMagic)) {
      return Status::invalid_argument("is no record of alloctap");
    }
    rest_.remove_prefix(kRecordMagic.size());
    std::uint64_t version = 0;
    if (!read_number(version)) return status();
    if (version <= kRecordVersion) return Status();
    return Status::invalid_argument("is a record of version ", version, "; this program reads ",
                                    kRecordVersion, " and below");
  }

  /// Moves to the next table and skips unread rows. Returns false after the last table.
  [[nodiscard]] bool next_table() {
    while (next_row()) {
    }
    if (failed_ || ended_ || !read_columns()) return false;
    in_table_ = true;
    if (table_ != kRecordEnd) return true;
    ended_ = !next_row() && !failed_;
    return in_table_ = false;
  }

  [[nodiscard]] std::string_view table() const noexcept { return table_; }

  /// Moves to the next row of the current table. Returns false after the last row.
  [[nodiscard]] bool next_row() {
    std::uint64_t more = 0;
    if (!in_table_ || !read_number(more)) return in_table_ = false;
    if (more > 1) return fail();
    lists_.clear();
    for (std::size_t i = 0; more == 1 && i < columns_; ++i) {
      if (!read_value(column_[i])) return in_table_ = false;
    }
    return in_table_ = more == 1;
  }

  /// Returns the current row's value in column `name`; 0 or empty if the column is missing.
  [[nodiscard]] std::uint64_t number(std::string_view name) const noexcept {
    return find(name, RecordKind::kNumber).number;
  }
  [[nodiscard]] std::int64_t signed_number(std::string_view name) const noexcept {
    return from_zigzag(find(name, RecordKind::kSigned).number);
  }
  [[nodiscard]] std::string_view text(std::string_view name) const noexcept {
    return find(name, RecordKind::kText).text;
  }
  /// Returns the list in column `name`, valid until the next row is read.
  [[nodiscard]] std::span<const std::uint64_t> list(std::string_view name) const noexcept {
    const Column& column = find(name, RecordKind::kList);
    return {lists_.data() + column.first, static_cast<std::size_t>(column.number)};
  }

  /// Returns OK if the whole recording was read, else an error with the offset of the damage.
  [[nodiscard]] Status status() const {
    if (ended_) return Status();
    return Status::data_loss("is damaged or was cut short, at byte ", record_.size() - rest_.size(),
                             " of ", record_.size(), out_of_memory_ ? ": no memory" : "");
  }

 private:
  struct Column {
    RecordKind kind = RecordKind::kNumber;
    std::string_view name = {};
    /// The value of a number, or the length of a list.
    std::uint64_t number = 0;
    std::string_view text = {};
    /// The index of a list's first number in `lists_`.
    std::size_t first = 0;
  };

  bool fail() noexcept {
    failed_ = true;
    return in_table_ = false;
  }

  bool read_number(std::uint64_t& number) noexcept {
    number = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) return fail();
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      number |= std::uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return true;
    }
    return fail();
  }

  bool read_text(std::string_view& text) noexcept {
    std::uint64_t size = 0;
    if (!read_number(size)) return false;
    if (size > kLongestRecordText || size > rest_.size()) return fail();
    text = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return true;
  }

  bool read_list(Column& column) noexcept {
    if (!read_number(column.number)) return false;
    if (column.number > kLongestRecordList) return fail();
    column.first = lists_.size();
    for (std::uint64_t i = 0; i < column.number; ++i) {
      std::uint64_t number = 0;
      if (!read_number(number)) return false;
      out_of_memory_ = !lists_.push_back(number);
      if (out_of_memory_) return fail();
    }
    return true;
  }

  bool read_columns() noexcept {
    std::uint64_t count = 0;
    columns_ = 0;
    if (!read_text(table_) || !read_number(count)) return false;
    if (count > kMaxRecordColumns) return fail();
    for (; columns_ < count; ++columns_) {
      if (rest_.empty() || !is_kind(rest_.front())) return fail();
      column_[columns_] = {.kind = static_cast<RecordKind>(rest_.front())};
      rest_.remove_prefix(1);
      if (!read_text(column_[columns_].name)) return false;
    }
    return true;
  }

  static bool is_kind(char kind) noexcept {
    return std::string_view("nstl").find(kind) != std::string_view::npos;
  }

  bool read_value(Column& column) noexcept {
    switch (column.kind) {
      case RecordKind::kText:
        return read_text(column.text);
      case RecordKind::kList:
        return read_list(column);
      case RecordKind::kNumber:
      case RecordKind::kSigned:
        return read_number(column.number);
    }
    return false;
  }

  [[nodiscard]] const Column& find(std::string_view name, RecordKind kind) const noexcept {
    static constexpr Column kNone{};
    for (const Column& column : std::span(column_).first(columns_)) {
      if (column.kind == kind && column.name == name) return column;
    }
    return kNone;
  }

  std::string_view record_;
  std::string_view rest_;
  std::string_view table_;
  std::array<Column, kMaxRecordColumns> column_{};
  std::size_t columns_ = 0;
  ArenaArray<std::uint64_t> lists_;
  bool in_table_ = false;
  bool failed_ = false;
  bool ended_ = false;
  bool out_of_memory_ = false;
};

}  // namespace alloctap
