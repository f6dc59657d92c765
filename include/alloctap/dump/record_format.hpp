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

#include <cstddef>
#include <cstdint>
#include <string_view>

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

}  // namespace alloctap
