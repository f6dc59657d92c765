/// Fill patterns, and the search for bytes that differ from them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace alloctap {

/// Fill values. They equal those of Android's malloc_debug.
inline constexpr std::uint8_t kFrontGuardByte = 0xAA;
inline constexpr std::uint8_t kRearGuardByte = 0xBB;
inline constexpr std::uint8_t kAllocatedByte = 0xEB;
inline constexpr std::uint8_t kFreedByte = 0xEF;

/// The bytes of a filled range that differ from the fill value.
struct ChangedBytes {
  static constexpr std::size_t kMaxShown = 16;

  /// Number of changed bytes.
  std::size_t count = 0;
  /// Offsets of the first and the last changed byte from the program's pointer.
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::uint8_t expected = 0;
  /// A copy of the bytes from the first changed byte on; the first `shown` elements are valid.
  std::array<std::uint8_t, kMaxShown> found{};
  std::uint8_t shown = 0;

  /// Merges the changes found at higher addresses of the block into this object.
  void add(const ChangedBytes& later) noexcept {
    if (count == 0) {
      *this = later;
    } else if (later.count != 0) {
      last = later.last;
      count += later.count;
    }
  }
};

/// Returns the bytes of `[begin, begin + bytes)` that differ from `expected`. Offsets in the result
/// are relative to `block`. Runs inside malloc. Other threads may write the range concurrently.
[[nodiscard]] inline ChangedBytes find_changes(const void* begin, std::size_t bytes,
                                               std::uint8_t expected, const void* block) noexcept {
  ChangedBytes changes{.expected = expected};
  const auto* const at = static_cast<const std::uint8_t*>(begin);
  // If the range equals itself shifted by one byte, all bytes equal the first byte.
  if (bytes == 0 || (at[0] == expected && std::memcmp(at, at + 1, bytes - 1) == 0)) return changes;
  const std::int64_t offset = at - static_cast<const std::uint8_t*>(block);
  for (std::size_t i = 0; i < bytes; ++i) {
    if (at[i] == expected) continue;
    const auto place = offset + static_cast<std::int64_t>(i);
    if (changes.count == 0) {
      changes.first = place;
      changes.shown = static_cast<std::uint8_t>(std::min(bytes - i, ChangedBytes::kMaxShown));
      std::memcpy(changes.found.data(), at + i, changes.shown);
    }
    changes.last = place;
    ++changes.count;
  }
  return changes;
}

}  // namespace alloctap
