/// A reader of a module's unwind tables: .eh_frame_hdr, FDEs, CIEs and encoded pointers.
///
/// Unwind tables are untrusted data. All functions run inside malloc, allocate nothing, take no
/// lock, and read only inside the bounds of `UnwindTables`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "alloctap/elf/byte_reader.hpp"

namespace alloctap::elf {

/// The result of an unwind table look-up.
enum class UnwindStatus : std::uint8_t {
  kFound,
  /// The tables do not cover this address.
  kNoDescription,
  /// The tables are inconsistent or violate the standards.
  kMalformed,
  /// The tables may be valid, but use features beyond this reader or its buffers.
  kTooComplex,
};

struct UnwindTables {
  /// The address of the module's .eh_frame_hdr.
  std::uintptr_t header = 0;
  /// Bounds of readable memory that contains the header and .eh_frame, mapped with the module.
  std::uintptr_t low = 0;
  std::uintptr_t high = 0;

  /// Returns a reader from `address` to `high`, in the failed state if `address` is out of bounds.
  [[nodiscard]] ByteReader reader_at(std::uintptr_t address) const noexcept {
    if (address < low || address >= high) return ByteReader::failed();
    return ByteReader({reinterpret_cast<const std::byte*>(address), high - address});
  }
};

/// A pointer's encoding byte, DW_EH_PE_* (Linux Standard Base, "DWARF Extensions", 10.5.1). The low
/// four bits are the format. The next three bits are the base that the value is relative to. The
/// highest bit means that the result is the address of the pointer (indirect).
struct PointerEncoding {
  static constexpr std::uint8_t kAbsolute = 0x00;
  static constexpr std::uint8_t kUleb128 = 0x01;
  static constexpr std::uint8_t kUnsigned2 = 0x02;
  static constexpr std::uint8_t kUnsigned4 = 0x03;
  static constexpr std::uint8_t kUnsigned8 = 0x04;
  static constexpr std::uint8_t kSleb128 = 0x09;
  static constexpr std::uint8_t kSigned2 = 0x0A;
  static constexpr std::uint8_t kSigned4 = 0x0B;
  static constexpr std::uint8_t kSigned8 = 0x0C;
  static constexpr std::uint8_t kFormat = 0x0F;

  static constexpr std::uint8_t kPcRelative = 0x10;
  static constexpr std::uint8_t kDataRelative = 0x30;
  static constexpr std::uint8_t kBase = 0x70;

  static constexpr std::uint8_t kIndirect = 0x80;
  /// No pointer is present.
  static constexpr std::uint8_t kOmit = 0xFF;
};

/// Reads the raw value of a pointer, without a base. `reader` fails if the format is invalid or the
/// pointer is omitted.
inline std::uintptr_t read_pointer_value(ByteReader& reader, std::uint8_t encoding) noexcept {
  const auto widened = [](std::int64_t value) { return static_cast<std::uintptr_t>(value); };
  switch (encoding == PointerEncoding::kOmit ? encoding : encoding & PointerEncoding::kFormat) {
    case PointerEncoding::kAbsolute:
      return reader.read<std::uintptr_t>();
    case PointerEncoding::kUleb128:
      return reader.read_uleb128();
    case PointerEncoding::kUnsigned2:
      return reader.read<std::uint16_t>();
    case PointerEncoding::kUnsigned4:
      return reader.read<std::uint32_t>();
    case PointerEncoding::kUnsigned8:
      return reader.read<std::uint64_t>();
    case PointerEncoding::kSleb128:
      return widened(reader.read_sleb128());
    case PointerEncoding::kSigned2:
      return widened(reader.read<std::int16_t>());
    case PointerEncoding::kSigned4:
      return widened(reader.read<std::int32_t>());
    case PointerEncoding::kSigned8:
      return widened(reader.read<std::int64_t>());
    default:
      reader.fail();
      return 0;
  }
}

/// Reads a pointer and adds its base. A raw value of 0 stays 0, as in GCC's unwinder. Data-relative
/// pointers need a nonzero `data_base`. `reader` fails as in `read_pointer_value`, and for
/// encodings that unwind tables never use on the supported systems: indirect, text-relative,
/// function-relative or aligned.
inline std::uintptr_t read_encoded_pointer(ByteReader& reader, std::uint8_t encoding,
                                           std::uintptr_t data_base) noexcept {
  const std::uintptr_t position = reader.address();
  const std::uintptr_t value = read_pointer_value(reader, encoding);
  const auto base = encoding & PointerEncoding::kBase;
  const bool known = base == PointerEncoding::kAbsolute || base == PointerEncoding::kPcRelative ||
                     (base == PointerEncoding::kDataRelative && data_base != 0);
  if (!known || (encoding & PointerEncoding::kIndirect) != 0) reader.fail();
  if (!reader.ok() || value == 0) return 0;
  if (base == PointerEncoding::kPcRelative) return value + position;
  return base == PointerEncoding::kDataRelative ? value + data_base : value;
}

/// An entry of .eh_frame whose contents are not decoded.
struct FrameEntry {
  enum class Kind : std::uint8_t {
    /// A CIE, which several FDEs share.
    kCommonInformation,
    /// An FDE, which describes how to unwind one function or a part of one.
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
  // The id has 4 bytes even after a 64-bit length, unlike in .debug_frame.
  const auto id = contents.read<std::uint32_t>();
  if (!reader.ok() || !contents.ok()) return {};
  entry.kind = id == 0 ? FrameEntry::Kind::kCommonInformation : FrameEntry::Kind::kDescription;
  entry.common_information = id_address - id;
  entry.contents = contents;
  entry.next = reader.address();
  return entry;
}

/// A CIE: data that FDEs of one object file share (DWARF 5, 6.4.1; Linux Standard Base, "DWARF
/// Extensions", 10.6.1.1).
struct CommonInformation {
  /// The initial instructions, which compute the row at the start of each function.
  std::span<const std::byte> instructions;
  std::uint64_t code_alignment = 0;
  std::int64_t data_alignment = 0;
  std::uint64_t return_address_register = 0;
  /// The encoding of FDE ranges, and of addresses in instructions.
  std::uint8_t pointer_encoding = PointerEncoding::kAbsolute;
  /// Whether FDEs have augmentation data after their range.
  bool has_augmentation_data = false;
  /// Whether a signal pushed the frame, so that its caller was interrupted and did not call.
  bool signal_frame = false;
  /// Whether a personality routine runs when an exception passes through the frame.
  bool has_personality = false;
};

/// Reads the data of each letter of `augmentation`. Returns false if a letter is unknown.
inline bool read_augmentation(std::string_view augmentation, ByteReader& data,
                              CommonInformation& information) noexcept {
  for (const char letter : augmentation) {
    switch (letter) {
      case 'R':
        information.pointer_encoding = data.read<std::uint8_t>();
        break;
      case 'L':
        // Skips the encoding of the LSDA pointer, which only exceptions need.
        static_cast<void>(data.read<std::uint8_t>());
        break;
      case 'P': {
        const auto encoding = data.read<std::uint8_t>();
        static_cast<void>(read_pointer_value(data, encoding));
        information.has_personality = true;
        break;
      }
      case 'S':
        information.signal_frame = true;
        break;
      case 'B':  // AArch64: which key signs return addresses.
      case 'G':  // AArch64: the stack is tagged.
        break;
      default:
        return false;
    }
  }
  return data.ok();
}

/// Reads and validates the fields between the augmentation string and the augmentation data.
inline bool read_alignments(ByteReader& reader, std::uint8_t version,
                            CommonInformation& information) noexcept {
  if (version == 4) {
    const auto address_bytes = reader.read<std::uint8_t>();
    const auto segment_bytes = reader.read<std::uint8_t>();
    if (address_bytes != sizeof(std::uintptr_t) || segment_bytes != 0) return false;
  }
  information.code_alignment = reader.read_uleb128();
  information.data_alignment = reader.read_sleb128();
  information.return_address_register =
      version == 1 ? reader.read<std::uint8_t>() : reader.read_uleb128();
  return reader.ok();
}

/// Decodes the CIE at `address`. Returns nullopt if the entry is no CIE, or is malformed or
/// unsupported. Versions 1, 3 and 4 and augmentations with a size are supported.
inline std::optional<CommonInformation> read_common_information(const UnwindTables& tables,
                                                                std::uintptr_t address) noexcept {
  constexpr std::size_t kMaxLetters = 15;
  FrameEntry entry = read_frame_entry(tables, address);
  if (entry.kind != FrameEntry::Kind::kCommonInformation) return std::nullopt;
  ByteReader& reader = entry.contents;
  const auto version = reader.read<std::uint8_t>();
  if (version != 1 && version != 3 && version != 4) return std::nullopt;
  const std::string_view augmentation = reader.read_text(kMaxLetters);
  CommonInformation information;
  // GCC 2 wrote an unused address here.
  if (augmentation == "eh") static_cast<void>(reader.read<std::uintptr_t>());
  if (!read_alignments(reader, version, information)) return std::nullopt;
  if (augmentation.starts_with('z')) {
    information.has_augmentation_data = true;
    ByteReader data(reader.read_bytes(reader.read_uleb128()));
    if (!read_augmentation(augmentation.substr(1), data, information)) return std::nullopt;
  } else if (!augmentation.empty() && augmentation != "eh") {
    return std::nullopt;
  }
  if (!reader.ok()) return std::nullopt;
  information.instructions = reader.rest();
  return information;
}

/// An FDE, which describes how one function is unwound, with its CIE (DWARF 5, 6.4.1).
struct FrameDescription {
  /// The code `[begin, end)`, as addresses in this process.
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  CommonInformation common;
  /// The FDE's instructions, executed after the CIE's initial instructions.
  std::span<const std::byte> instructions;

  [[nodiscard]] bool covers(std::uintptr_t pc) const noexcept { return pc >= begin && pc < end; }
};

/// Decodes `entry`. Returns nullopt if the entry is no FDE, or if the FDE or its CIE is malformed.
inline std::optional<FrameDescription> decode_frame_description(const UnwindTables& tables,
                                                                FrameEntry entry) noexcept {
  if (entry.kind != FrameEntry::Kind::kDescription) return std::nullopt;
  const auto common = read_common_information(tables, entry.common_information);
  if (!common) return std::nullopt;
  FrameDescription description;
  description.common = *common;
  ByteReader& reader = entry.contents;
  description.begin = read_encoded_pointer(reader, common->pointer_encoding, 0);
  description.end = description.begin + read_pointer_value(reader, common->pointer_encoding);
  if (common->has_augmentation_data) {
    static_cast<void>(reader.read_bytes(reader.read_uleb128()));
  }
  if (!reader.ok() || description.end < description.begin) return std::nullopt;
  description.instructions = reader.rest();
  return description;
}

/// Decodes the FDE at `address`. Returns nullopt if `decode_frame_description` does.
inline std::optional<FrameDescription> read_frame_description(const UnwindTables& tables,
                                                              std::uintptr_t address) noexcept {
  return decode_frame_description(tables, read_frame_entry(tables, address));
}

/// The contents of .eh_frame_hdr (Linux Standard Base, "DWARF Extensions", 10.6.2).
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

/// Parses the header. Returns nullopt if it is malformed.
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
/// because the call may be the last instruction of its function.
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
