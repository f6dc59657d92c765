/// The entries that .eh_frame is a list of (Linux Standard Base, "DWARF Extensions", 10.6.1).
#pragma once

#include <cstdint>

#include "alloctap/elf/unwind_tables.hpp"

namespace alloctap::elf {

/// One entry, undecoded.
struct FrameEntry {
  enum class Kind : std::uint8_t {
    /// What several functions have in common: a CIE.
    kCommonInformation,
    /// How to unwind one function, or a part of one: an FDE.
    kDescription,
    kTerminator,
    kMalformed,
  };

  Kind kind = Kind::kMalformed;
  /// Of a description: where its CIE is.
  std::uintptr_t common_information = 0;
  /// What follows the length and the CIE pointer or id, as far as the length says.
  ByteReader contents = ByteReader::failed();
  /// Where the next entry begins; not of a terminator or what is malformed.
  std::uintptr_t next = 0;
};

/// The entry at `address`. Runs anywhere.
inline FrameEntry read_frame_entry(const UnwindTables& tables, std::uintptr_t address) noexcept {
  constexpr std::uint32_t kLongLength = 0xFFFFFFFF;
  ByteReader reader = tables.reader_at(address);
  std::uint64_t length = reader.read<std::uint32_t>();
  if (!reader.ok()) return {};
  FrameEntry entry;
  if (length == 0) {
    entry.kind = FrameEntry::Kind::kTerminator;
    return entry;
  }
  if (length == kLongLength) length = reader.read<std::uint64_t>();
  ByteReader contents(reader.read_bytes(length));
  const std::uintptr_t id_address = contents.address();
  // 4 bytes also behind a long length, unlike in .debug_frame.
  const auto id = contents.read<std::uint32_t>();
  if (!reader.ok() || !contents.ok()) return {};
  entry.kind = id == 0 ? FrameEntry::Kind::kCommonInformation : FrameEntry::Kind::kDescription;
  entry.common_information = id_address - id;
  entry.contents = contents;
  entry.next = reader.address();
  return entry;
}

}  // namespace alloctap::elf
