/// A reader of raw .eh_frame entries: CIEs and FDEs (Linux Standard Base, "DWARF Extensions",
/// 10.6.1).
#pragma once

#include <cstdint>

#include "alloctap/elf/unwind_tables.hpp"

namespace alloctap::elf {

/// An entry whose contents are not decoded.
struct FrameEntry {
  enum class Kind : std::uint8_t {
    /// A CIE, which several FDEs share.
    kCommonInformation,
    /// An FDE: how to unwind one function or a part of one.
    kDescription,
    kTerminator,
    kMalformed,
  };

  Kind kind = Kind::kMalformed;
  /// The address of an FDE's CIE.
  std::uintptr_t common_information = 0;
  /// The bytes after the length and the CIE pointer or id, up to the entry's end.
  ByteReader contents = ByteReader::failed();
  /// The address of the next entry, unless `kind` is `kTerminator` or `kMalformed`.
  std::uintptr_t next = 0;
};

/// Reads the entry at `address`. Runs inside malloc.
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
  // 4 bytes even after a 64-bit length, unlike .debug_frame.
  const auto id = contents.read<std::uint32_t>();
  if (!reader.ok() || !contents.ok()) return {};
  entry.kind = id == 0 ? FrameEntry::Kind::kCommonInformation : FrameEntry::Kind::kDescription;
  entry.common_information = id_address - id;
  entry.contents = contents;
  entry.next = reader.address();
  return entry;
}

}  // namespace alloctap::elf
