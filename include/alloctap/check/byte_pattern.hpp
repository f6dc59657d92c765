/// Bytes that must stay as they are, and which of them did not.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace alloctap {

/// What stands where. The values are those of Android's malloc_debug.
inline constexpr std::uint8_t kFrontGuardByte = 0xAA;
inline constexpr std::uint8_t kRearGuardByte = 0xBB;
inline constexpr std::uint8_t kAllocatedByte = 0xEB;
inline constexpr std::uint8_t kFreedByte = 0xEF;

/// Bytes that were to be all the same and are not.
struct ChangedBytes {
  static constexpr std::size_t kMaxShown = 16;

  /// How many differ; 0 where none does.
  std::size_t count = 0;
  /// Of the first and of the last one, from where the program's block begins.
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::uint8_t expected = 0;
  /// What stands from the first one on, as far as it goes: `shown` bytes.
  std::array<std::uint8_t, kMaxShown> found{};
  std::uint8_t shown = 0;

  /// Adds what was found further up in the same block.
  void add(const ChangedBytes& later) noexcept {
    if (count == 0) {
      *this = later;
    } else if (later.count != 0) {
      last = later.last;
      count += later.count;
    }
  }
};

/// Which of the `bytes` at `begin` are not `expected`; offsets count from `block`. Runs inside
/// malloc. Other threads may write them meanwhile.
[[nodiscard]] inline ChangedBytes find_changes(const void* begin, std::size_t bytes,
                                               std::uint8_t expected, const void* block) noexcept {
  ChangedBytes changes{.expected = expected};
  const auto* const at = static_cast<const std::uint8_t*>(begin);
  // Equal to its first byte, and each to the next one: so all are.
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
