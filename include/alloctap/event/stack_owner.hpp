/// The owner of an allocation: a tag and a thread.
#pragma once

#include <cstdint>

namespace alloctap {

/// Identifies a tag of the program, such as "Physics". 0 means no tag.
using TagId = std::uint16_t;
inline constexpr TagId kNoTag = 0;

/// The number of a program thread (`ThreadState::number`); 0 if threads are not distinguished.
using ThreadNumber = std::uint16_t;
inline constexpr ThreadNumber kNoThread = 0;

/// The owner of a stack's allocations. Equal frames with different owners are different stacks.
struct StackOwner {
  TagId tag = kNoTag;
  ThreadNumber thread = kNoThread;

  [[nodiscard]] constexpr bool is_empty() const noexcept {
    return tag == kNoTag && thread == kNoThread;
  }
  [[nodiscard]] constexpr std::uint32_t bits() const noexcept {
    return std::uint32_t{thread} << 16 | tag;
  }

  friend constexpr bool operator==(const StackOwner&, const StackOwner&) noexcept = default;
};

}  // namespace alloctap
