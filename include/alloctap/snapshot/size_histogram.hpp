/// A histogram of live blocks by size.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace alloctap {

/// The live blocks of one size class.
struct SizeClass {
  std::uint64_t live_allocations = 0;
  std::uint64_t live_bytes = 0;
};

/// Class 0 holds empty blocks; class k holds blocks of 2^(k-1) to 2^k - 1 bytes.
inline constexpr std::size_t kSizeClasses = 65;
using SizeHistogram = std::array<SizeClass, kSizeClasses>;

[[nodiscard]] constexpr std::size_t size_class(std::uint64_t bytes) noexcept {
  return static_cast<std::size_t>(std::bit_width(bytes));
}

[[nodiscard]] constexpr std::uint64_t least_size(std::size_t size_class) noexcept {
  return size_class == 0 ? 0 : std::uint64_t{1} << (size_class - 1);
}

[[nodiscard]] constexpr std::uint64_t greatest_size(std::size_t size_class) noexcept {
  return size_class == 0 ? 0 : least_size(size_class) - 1 + least_size(size_class);
}

}  // namespace alloctap
