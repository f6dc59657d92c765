/// A decoder of FDEs, which describe how one function is unwound, with their CIEs (DWARF 5, 6.4.1).
#pragma once

#include <cstdint>
#include <optional>

#include "alloctap/elf/common_information.hpp"

namespace alloctap::elf {

struct FrameDescription {
  /// The code `[begin, end)`, as addresses in this process.
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  CommonInformation common;
  /// The FDE's instructions, executed after the CIE's initial instructions.
  std::span<const std::byte> instructions;

  [[nodiscard]] bool covers(std::uintptr_t pc) const noexcept { return pc >= begin && pc < end; }
};

/// Decodes `entry`. Returns nullopt if it is no FDE, or the FDE or its CIE is malformed. Runs
/// inside malloc.
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

}  // namespace alloctap::elf
