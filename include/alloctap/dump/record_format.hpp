/// The form of a record: what `RecordDump` writes and `RecordReader` reads.
///
/// A record is the line `kRecordMagic`, a version and tables, up to the one named `kRecordEnd`: a
/// record without it was cut short. A table is its name, the number of its columns, for each column
/// its kind and name, and rows: a 1 and a value for each column; a 0 ends it. So who does not know
/// a table or a column can pass over it, and what stands before a cut can be read.
///
/// Numbers are unsigned LEB128 (DWARF 5, 7.6), signed ones zigzag as in protocol buffers
/// (2n, or -2n - 1 for negative n). A text is its length and its bytes; a list is its length and
/// its numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace alloctap {

inline constexpr std::string_view kRecordMagic = "alloctap record\n";
/// Readers take records of this version and below. Tables and columns may be added without a new
/// one.
inline constexpr std::uint64_t kRecordVersion = 1;
inline constexpr std::string_view kRecordEnd = "end";

/// What a column holds; a byte of the record.
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

/// No text or list of a record is longer, in bytes and numbers, and no table has more columns.
inline constexpr std::uint64_t kLongestRecordText = 1 << 20;
inline constexpr std::uint64_t kLongestRecordList = 1 << 16;
inline constexpr std::size_t kMaxRecordColumns = 64;

[[nodiscard]] constexpr std::uint64_t to_zigzag(std::int64_t number) noexcept {
  return (static_cast<std::uint64_t>(number) << 1) ^ static_cast<std::uint64_t>(number >> 63);
}

[[nodiscard]] constexpr std::int64_t from_zigzag(std::uint64_t number) noexcept {
  return static_cast<std::int64_t>((number >> 1) ^ (~(number & 1) + 1));
}

}  // namespace alloctap
