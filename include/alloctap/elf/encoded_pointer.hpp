/// A decoder of encoded pointers in exception tables: DW_EH_PE_* (Linux Standard Base, "DWARF
/// Extensions", 10.5.1).
#pragma once

#include <cstdint>

#include "alloctap/elf/byte_reader.hpp"

namespace alloctap::elf {

/// The encoding byte. The low four bits are the format. The next three bits are the base that the
/// value is relative to. The highest bit means that the result is the address of the pointer
/// (indirect).
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
/// pointer is omitted. Runs inside malloc.
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
/// function-relative or aligned. Runs inside malloc.
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

}  // namespace alloctap::elf
