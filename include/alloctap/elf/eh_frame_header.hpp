/// Finds a function's FDE in .eh_frame by binary search of .eh_frame_hdr (Linux Standard Base,
/// "DWARF Extensions", 10.6.2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "alloctap/elf/frame_description.hpp"

namespace alloctap::elf {

/// The contents of .eh_frame_hdr.
struct EhFrameHeader {
  /// A row of the table. Its members are relative to the header's address.
  struct Row {
    std::int32_t code_begin;
    std::int32_t description;
  };

  /// The address of .eh_frame, or 0 if the header omits it.
  std::uintptr_t eh_frame = 0;
  /// Unaligned rows of `sizeof(Row)` bytes, by ascending `code_begin`. Empty if the header has no
  /// table, or if the table's encoding is one that linkers do not use.
  std::span<const std::byte> table;
};

/// Parses the header. Returns nullopt if it is malformed. Runs inside malloc.
inline std::optional<EhFrameHeader> read_eh_frame_header(const UnwindTables& tables) noexcept {
  constexpr std::uint8_t kVersion = 1;
  ByteReader reader = tables.reader_at(tables.header);
  const auto version = reader.read<std::uint8_t>();
  const auto pointer_encoding = reader.read<std::uint8_t>();
  const auto count_encoding = reader.read<std::uint8_t>();
  const auto table_encoding = reader.read<std::uint8_t>();
  if (!reader.ok() || version != kVersion) return std::nullopt;

  EhFrameHeader header;
  if (pointer_encoding != PointerEncoding::kOmit) {
    header.eh_frame = read_encoded_pointer(reader, pointer_encoding, tables.header);
  }
  const bool has_usual_table =
      count_encoding != PointerEncoding::kOmit &&
      table_encoding == (PointerEncoding::kDataRelative | PointerEncoding::kSigned4);
  if (has_usual_table) {
    const auto count = read_encoded_pointer(reader, count_encoding, tables.header);
    if (count > reader.rest().size() / sizeof(EhFrameHeader::Row)) return std::nullopt;
    header.table = reader.read_bytes(count * sizeof(EhFrameHeader::Row));
  }
  return reader.ok() ? std::optional(header) : std::nullopt;
}

/// Calls `visit(entry_address, const FrameEntry&)` for each FDE of .eh_frame, in file order, until
/// `visit` returns false. `max_entries` bounds the time. Returns `kFound` if `visit` returned
/// false, `kNoDescription` at the end of .eh_frame, `kTooComplex` after `max_entries`.
template <class Visit>
UnwindStatus visit_frame_entries(const UnwindTables& tables, std::size_t max_entries,
                                 Visit&& visit) noexcept {
  const auto header = read_eh_frame_header(tables);
  if (!header || header->eh_frame == 0) return UnwindStatus::kMalformed;
  std::uintptr_t address = header->eh_frame;
  for (std::size_t i = 0; i < max_entries; ++i) {
    // A linker script may omit the terminator.
    if (address == tables.high) return UnwindStatus::kNoDescription;
    const FrameEntry entry = read_frame_entry(tables, address);
    if (entry.kind == FrameEntry::Kind::kTerminator) return UnwindStatus::kNoDescription;
    if (entry.kind == FrameEntry::Kind::kMalformed) return UnwindStatus::kMalformed;
    if (entry.kind == FrameEntry::Kind::kDescription && !visit(address, entry)) {
      return UnwindStatus::kFound;
    }
    address = entry.next;
  }
  return UnwindStatus::kTooComplex;
}

inline EhFrameHeader::Row read_table_row(std::span<const std::byte> table,
                                         std::size_t number) noexcept {
  EhFrameHeader::Row row;
  std::memcpy(&row, table.data() + number * sizeof row, sizeof row);
  return row;
}

/// Returns the number of rows whose code begins at or below `pc` (binary search).
inline std::size_t count_rows_up_to(std::span<const std::byte> table, std::uintptr_t header,
                                    std::uintptr_t pc) noexcept {
  std::size_t low = 0;
  std::size_t high = table.size() / sizeof(EhFrameHeader::Row);
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    const EhFrameHeader::Row row = read_table_row(table, middle);
    const bool begins_above = header + static_cast<std::uintptr_t>(row.code_begin) > pc;
    (begins_above ? high : low) = begins_above ? middle : middle + 1;
  }
  return low;
}

/// The result of an FDE look-up. `description` is meaningful only on `kFound`.
struct FoundDescription {
  UnwindStatus status = UnwindStatus::kNoDescription;
  FrameDescription description;
};

/// Searches .eh_frame linearly. Used for modules without a binary search table. The number of
/// entries searched is bounded, because the largest programs have half a million functions.
inline FoundDescription search_frame_description(const UnwindTables& tables,
                                                 std::uintptr_t pc) noexcept {
  constexpr std::size_t kMaxEntries = std::size_t{1} << 20;
  FoundDescription found;
  const auto does_not_cover = [&](std::uintptr_t, const FrameEntry& entry) {
    const auto description = decode_frame_description(tables, entry);
    const bool covers = description && description->covers(pc);
    if (covers) found.description = *description;
    return !covers;
  };
  found.status = visit_frame_entries(tables, kMaxEntries, does_not_cover);
  return found;
}

/// Finds the FDE of the code at `pc`. Takes logarithmic time, or time linear in .eh_frame if the
/// module has no table in the common encoding. For a return address, pass the address before it,
/// because the call may be the last instruction of its function. Runs inside malloc.
inline FoundDescription find_frame_description(const UnwindTables& tables,
                                               std::uintptr_t pc) noexcept {
  const auto header = read_eh_frame_header(tables);
  if (!header) return {UnwindStatus::kMalformed, {}};
  if (header->table.empty()) return search_frame_description(tables, pc);
  // Linkers may leave empty FDEs at the address of another function, so this skips some table rows.
  constexpr std::size_t kMaxEmpty = 4;
  std::size_t row = count_rows_up_to(header->table, tables.header, pc);
  for (std::size_t tries = 0; row != 0 && tries <= kMaxEmpty; ++tries) {
    const auto place = read_table_row(header->table, --row).description;
    const auto description =
        read_frame_description(tables, tables.header + static_cast<std::uintptr_t>(place));
    if (!description) return {UnwindStatus::kMalformed, {}};
    if (description->covers(pc)) return {UnwindStatus::kFound, *description};
    if (description->begin != description->end) break;
  }
  return {};
}

}  // namespace alloctap::elf
