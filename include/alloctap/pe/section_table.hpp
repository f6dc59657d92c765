/// Which parts of a PE file are written to once it is loaded ("PE Format", "Section Table").
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "alloctap/pe/mapped_image.hpp"

namespace alloctap::pe {

/// Whether one of the sections that `file`, the start of a PE file, places into `[begin, end)` is
/// for writing, whatever the loader made of it since; in bytes from the module's first one. Nothing
/// where `file` is none, or does not hold its table of sections. Reads only inside `file`; runs
/// anywhere.
inline std::optional<bool> has_written_section(std::span<const std::byte> file, std::size_t begin,
                                               std::size_t end) noexcept {
  constexpr std::size_t kOptionalHeader = 24;
  constexpr std::size_t kRow = 40;
  constexpr std::uint32_t kIsForWriting = 0x8000'0000;
  const auto headers = find_headers(file);
  if (!headers) return std::nullopt;
  const auto count = read_number<std::uint16_t>(file, *headers + 6);
  const auto optional_bytes = read_number<std::uint16_t>(file, *headers + 20);
  if (!count || !optional_bytes) return std::nullopt;
  std::size_t row = *headers + kOptionalHeader + *optional_bytes;
  for (std::size_t i = 0; i < *count; ++i, row += kRow) {
    const auto size = read_number<std::uint32_t>(file, row + 8);
    const auto place = read_number<std::uint32_t>(file, row + 12);
    const auto flags = read_number<std::uint32_t>(file, row + 36);
    if (!size || !place || !flags) return std::nullopt;
    const std::size_t section_end = std::size_t{*place} + std::max<std::uint32_t>(*size, 1);
    const bool is_there = *place < end && begin < section_end;
    if (is_there && (*flags & kIsForWriting) != 0) return true;
  }
  return false;
}

}  // namespace alloctap::pe
