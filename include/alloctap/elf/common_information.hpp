/// A decoder of CIEs, the data that several FDEs of one object file share (DWARF 5, 6.4.1; Linux
/// Standard Base, "DWARF Extensions", 10.6.1.1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "alloctap/elf/encoded_pointer.hpp"
#include "alloctap/elf/unwind_tables.hpp"

namespace alloctap::elf {

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
  // The id has 4 bytes even after a 64-bit length, unlike in .debug_frame.
  const auto id = contents.read<std::uint32_t>();
  if (!reader.ok() || !contents.ok()) return {};
  entry.kind = id == 0 ? FrameEntry::Kind::kCommonInformation : FrameEntry::Kind::kDescription;
  entry.common_information = id_address - id;
  entry.contents = contents;
  entry.next = reader.address();
  return entry;
}

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
/// unsupported. Versions 1, 3 and 4 and augmentations with a size are supported. Runs inside
/// malloc.
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

}  // namespace alloctap::elf
