/// Encoding of recordings, which `RecordDump` writes and `RecordReader` reads.
///
/// A recording is the line `kRecordMagic`, a version and tables. The last table is `kRecordEnd`. If
/// `kRecordEnd` is missing, the recording is truncated. A table is its name, the number of columns,
/// each column's kind and name, and rows. A row is a 1 and one value for each column. A 0 ends the
/// table. Readers can therefore skip unknown tables and columns, and read truncated recordings.
///
/// Numbers are unsigned LEB128 (DWARF 5, 7.6). Signed numbers are zigzag-encoded as in protocol
/// buffers (2n, or -2n - 1 for negative n). A text is its length and its bytes. A list is its
/// length and its numbers.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <type_traits>

#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/text_bytes.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/snapshot/snapshot_fields.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

inline constexpr std::string_view kRecordMagic = "alloctap record\n";
/// Readers accept this version and earlier ones. New tables and columns do not need a new version.
inline constexpr std::uint64_t kRecordVersion = 1;
inline constexpr std::string_view kRecordEnd = "end";

/// The type of a column; one byte of the recording.
enum class RecordKind : char {
  kNumber = 'n',
  kSigned = 's',
  kText = 't',
  kList = 'l',
};

struct RecordColumn {
  RecordKind kind = RecordKind::kNumber;
  std::string_view name;
};

/// The maximum numbers of bytes in a text, of numbers in a list, and of columns in a table.
inline constexpr std::uint64_t kLongestRecordText = 1 << 20;
inline constexpr std::uint64_t kLongestRecordList = 1 << 16;
inline constexpr std::size_t kMaxRecordColumns = 64;

[[nodiscard]] constexpr std::uint64_t to_zigzag(std::int64_t number) noexcept {
  return (static_cast<std::uint64_t>(number) << 1) ^ static_cast<std::uint64_t>(number >> 63);
}

[[nodiscard]] constexpr std::int64_t from_zigzag(std::uint64_t number) noexcept {
  return static_cast<std::int64_t>((number >> 1) ^ (~(number & 1) + 1));
}

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

/// Table columns, one for each field of each type in `Summaries`.
template <class... Summaries>
inline constexpr auto kFieldColumns = [] {
  const auto for_each_field = [](auto&& visit) { (visit_fields(kEmpty<Summaries>, visit), ...); };
  constexpr std::size_t count = [&] {
    std::size_t fields = 0;
    for_each_field([&](const char*, const auto&, auto...) { ++fields; });
    return fields;
  }();
  std::array<RecordColumn, count> columns{};
  std::size_t next = 0;
  for_each_field([&]<class Field>(const char* name, const Field&, auto...) {
    columns[next++] = {std::is_signed_v<Field> ? RecordKind::kSigned : RecordKind::kNumber, name};
  });
  return columns;
}();

/// Clamps a recorded time, in nanoseconds since 1970, to 2^61 ns (73 years), so that differences do
/// not overflow.
[[nodiscard]] constexpr std::int64_t sane_time(std::int64_t time_ns) noexcept {
  constexpr std::int64_t kMaxCount = std::int64_t{1} << 61;
  return std::clamp(time_ns, -kMaxCount, kMaxCount);
}

/// Writes the fields of `summary` as values of the open row.
template <class Summary>
void write_values(RecordWriter& record, const Summary& summary) {
  visit_fields(summary, [&](const char*, const auto& field, auto...) { record.value(field); });
}

/// Reads the fields of `summary` from the columns that are named after them. Clamps times.
template <class Summary>
void read_values(const RecordReader& row, Summary& summary) {
  visit_fields(summary, [&]<class Field>(const char* name, Field& field, auto...) {
    if constexpr (std::is_signed_v<Field>) {
      field = sane_time(row.signed_number(name));
    } else {
      field = static_cast<Field>(row.number(name));
    }
  });
}

/// The key of a number, "group.name"; "name" alone if the number has no group.
struct RecordKey {
  std::string_view group;
  std::string_view name;

  /// Returns the key as text in `buffer`.
  [[nodiscard]] std::string_view text(std::span<char, 64> buffer) const noexcept {
    std::size_t size = group.copy(buffer.data(), 31);
    if (size > 0) buffer[size++] = '.';
    return {buffer.data(), size + name.copy(buffer.data() + size, 32)};
  }

  [[nodiscard]] bool operator==(std::string_view key) const noexcept {
    if (group.empty()) return key == name;
    return key.size() == group.size() + 1 + name.size() && key.starts_with(group) &&
           key[group.size()] == '.' && key.ends_with(name);
  }
};

/// Calls `visit(RecordKey, number)` with a reference to each scalar of a snapshot, for writing and
/// for reading. A std::optional number without a value has no row. `SnapshotType` is `Snapshot`,
/// const or not.
template <class SnapshotType, class Visit>
void visit_numbers(SnapshotType& snapshot, Visit&& visit) {
  visit(RecordKey{"", "time_ns"}, snapshot.time_ns);
  const auto visit_group = [&](const char* group, auto& summary) {
    visit_fields(summary, [&](const char* name, auto& field, auto...) {
      visit(RecordKey{group, name}, field);
    });
  };
  visit_group("account", snapshot.account);
  visit_group("totals", snapshot.totals);
  visit_group("mappings", snapshot.mapping_totals);
  visit_group("sampling", snapshot.sampling);
  visit_group("scan", snapshot.scan);
  visit_group("checks", snapshot.checks);
  visit_group("guard_pages", snapshot.guards);
  visit(RecordKey{"markers", "forgotten"}, snapshot.forgotten_markers);
  visit(RecordKey{"scan", "done"}, snapshot.scan.done);
  visit(RecordKey{"freed", "knowledge"}, snapshot.freed.knowledge);
  visit(RecordKey{"misuses", "left_out"}, snapshot.misuses_left_out);
  visit(RecordKey{"scopes", "known"}, snapshot.scopes_known);
  visit(RecordKey{"scopes", "left_out"}, snapshot.left_out_scope_offences);
  visit(RecordKey{"peak", "time_ns"}, snapshot.peak.time_ns);
  visit(RecordKey{"peak", "live_bytes"}, snapshot.peak.live_bytes);
}

}  // namespace alloctap
