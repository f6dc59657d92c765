/// The identity of a call stack: the owner of its allocations, and its hash.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/event/stack_id.hpp"

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

/// Returns an address inside the call instruction before a return address. The return address
/// itself may belong to the next line or, after a call that never returns, to the next function.
[[nodiscard]] constexpr std::uintptr_t call_address(std::uintptr_t frame) noexcept {
  return frame - 1;
}

/// A 128-bit hash of a stack: two 64-bit hashes with different multipliers. Stacks with equal
/// hashes are treated as equal (tests compare frame by frame). The hash is computed from the
/// outermost frame inwards, so stacks with equal outer frames share the hash of these frames.
struct StackHash {
  /// The hash of the empty stack. Nonzero, so that a frame with the value 0 changes the hash.
  std::uint64_t first = 0x243F6A8885A308D3;
  std::uint64_t second = 0x13198A2E03707344;

  /// Returns the hash of this stack after a call to one more frame. The multipliers are the 64-bit
  /// golden ratio (Knuth, TAOCP 3, 6.4) and one from Steele and Vigna, "Computationally easy,
  /// spectrally good multipliers", 2021.
  [[nodiscard]] constexpr StackHash with(std::uintptr_t frame) const noexcept {
    return {.first = (std::rotl(first, 27) ^ frame) * 0x9E3779B97F4A7C15,
            .second = (std::rotl(second, 31) + frame) * 0xD1342543DE82EF95};
  }

  /// Returns the hash of this stack with an owner; an empty owner changes nothing. Swaps the halves
  /// of the product, because owners may differ only in high bits, but hash tables use low bits.
  [[nodiscard]] constexpr StackHash owned_by(StackOwner owner) const noexcept {
    const std::uint64_t mixed = owner.bits() * 0x9E3779B97F4A7C15;
    return {.first = first ^ std::rotl(mixed, 32), .second = second ^ mixed};
  }

  friend constexpr bool operator==(const StackHash&, const StackHash&) noexcept = default;
};

/// Returns a hash that no captured stack has, so that lookups no longer find the stack `id`.
[[nodiscard]] constexpr StackHash hash_of_retired(StackId id) noexcept {
  return {.first = id * 0x9E3779B97F4A7C15, .second = 0x452821E638D01377};
}

/// Returns the hash of `frames`, innermost first.
[[nodiscard]] constexpr StackHash hash_frames(std::span<const std::uintptr_t> frames) noexcept {
  StackHash hash;
  for (std::size_t i = frames.size(); i > 0; --i) hash = hash.with(frames[i - 1]);
  return hash;
}

}  // namespace alloctap
