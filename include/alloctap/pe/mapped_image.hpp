/// A parser of a mapped module's PE headers and section table ("PE Format", Microsoft).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

namespace alloctap::pe {

/// The location of a module in memory. `bias` is the address of the module's first byte. It is not
/// the difference from the preferred base address, which the loader overwrites in the headers.
struct MappedImage {
  std::uintptr_t bias = 0;
  /// One past the last byte that the module occupies.
  std::uintptr_t end = 0;
  /// The link time and the image size, by which symbol servers identify an executable.
  std::array<std::byte, 8> build_id{};
};

/// Returns the little-endian number at `offset`, or nullopt if `offset` is out of bounds.
template <class Number>
std::optional<Number> read_number(std::span<const std::byte> file, std::size_t offset) noexcept {
  if (offset > file.size() || file.size() - offset < sizeof(Number)) return std::nullopt;
  Number number;
  std::memcpy(&number, file.data() + offset, sizeof number);
  return number;
}

/// Returns the offset of the PE headers, or nullopt if `file` is no 64-bit PE file.
inline std::optional<std::size_t> find_headers(std::span<const std::byte> file) noexcept {
  constexpr std::size_t kPlaceOfHeaders = 0x3C;
  constexpr std::size_t kOptionalHeader = 24;
  constexpr std::uint16_t kDosMagic = 0x5A4D;
  constexpr std::uint32_t kSignature = 0x00004550;
  constexpr std::uint16_t kIs64Bit = 0x20B;
  if (read_number<std::uint16_t>(file, 0) != kDosMagic) return std::nullopt;
  const auto place = read_number<std::uint32_t>(file, kPlaceOfHeaders);
  if (!place || read_number<std::uint32_t>(file, *place) != kSignature) return std::nullopt;
  const bool is_known = read_number<std::uint16_t>(file, *place + kOptionalHeader) == kIs64Bit;
  return is_known ? std::optional<std::size_t>(*place) : std::nullopt;
}

/// Parses `file`, the start of the PE file whose first byte is mapped at `start`. Returns nullopt
/// if `file` is no PE file. Reads only inside `file`. Runs inside malloc.
inline std::optional<MappedImage> read_mapped_image(std::span<const std::byte> file,
                                                    std::uintptr_t start) noexcept {
  constexpr std::size_t kLinkTime = 8;
  constexpr std::size_t kImageSize = 24 + 56;
  const auto headers = find_headers(file);
  if (!headers) return std::nullopt;
  const auto time = read_number<std::uint32_t>(file, *headers + kLinkTime);
  const auto size = read_number<std::uint32_t>(file, *headers + kImageSize);
  if (!time || !size) return std::nullopt;
  MappedImage image{.bias = start, .end = start + *size};
  std::memcpy(image.build_id.data(), &*time, sizeof *time);
  std::memcpy(image.build_id.data() + sizeof *time, &*size, sizeof *size);
  return image;
}

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
