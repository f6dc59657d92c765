/// A parser of a PE file's section table ("PE Format", "Section Table").
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "alloctap/pe/mapped_image.hpp"

namespace alloctap::pe {

/// A section of a PE file. `begin` is an offset from the module's first byte.
struct SectionRow {
  std::string_view name;
  std::size_t begin = 0;
  std::size_t bytes = 0;
  bool is_for_writing = false;
};

/// Calls `visit(const SectionRow&)` for each section of `file`, the start of a PE file. Returns
/// false if `file` is no PE file or does not contain the section table. Reads only inside `file`.
/// Runs inside malloc.
template <class Visit>
bool visit_sections(std::span<const std::byte> file, Visit&& visit) noexcept {
  constexpr std::size_t kOptionalHeader = 24;
  constexpr std::size_t kRow = 40;
  constexpr std::size_t kNameBytes = 8;
  constexpr std::uint32_t kIsForWriting = 0x8000'0000;
  const auto headers = find_headers(file);
  if (!headers) return false;
  const auto count = read_number<std::uint16_t>(file, *headers + 6);
  const auto optional_bytes = read_number<std::uint16_t>(file, *headers + 20);
  if (!count || !optional_bytes) return false;
  std::size_t row = *headers + kOptionalHeader + *optional_bytes;
  for (std::size_t i = 0; i < *count; ++i, row += kRow) {
    const auto size = read_number<std::uint32_t>(file, row + 8);
    const auto place = read_number<std::uint32_t>(file, row + 12);
    const auto flags = read_number<std::uint32_t>(file, row + 36);
    if (!size || !place || !flags) return false;
    const std::string_view name(reinterpret_cast<const char*>(file.data() + row), kNameBytes);
    visit(SectionRow{.name = name.substr(0, name.find('\0')),
                     .begin = *place,
                     .bytes = *size,
                     .is_for_writing = (*flags & kIsForWriting) != 0});
  }
  return true;
}

/// Returns whether a section that overlaps `[begin, end)`, offsets from the module's first byte, is
/// marked as writable in the file. The current protection of the section's pages does not matter.
/// Returns nullopt if `file` is no PE file or does not contain the section table. Reads only inside
/// `file`. Runs inside malloc.
inline std::optional<bool> has_written_section(std::span<const std::byte> file, std::size_t begin,
                                               std::size_t end) noexcept {
  bool found = false;
  const bool known = visit_sections(file, [&](const SectionRow& section) {
    const std::size_t section_end = section.begin + std::max<std::size_t>(section.bytes, 1);
    const bool is_there = section.begin < end && begin < section_end;
    found = found || (is_there && section.is_for_writing);
  });
  if (found) return true;
  return known ? std::optional(false) : std::nullopt;
}

}  // namespace alloctap::pe
