/// A parser of the PE headers of a mapped module ("PE Format", Microsoft).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace alloctap::pe {

/// The location of a module in memory. `bias` is the address of the module's first byte. It is not
/// the difference from the preferred base address, because the loader overwrites that address.
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

}  // namespace alloctap::pe
