/// How a stack is told from another one.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/event/stack_id.hpp"
#include "alloctap/event/stack_owner.hpp"

namespace alloctap {

/// Frames are return addresses; the call is the instruction before, which may belong to another
/// line or, after a call that never returns, to another function.
[[nodiscard]] constexpr std::uintptr_t call_address(std::uintptr_t frame) noexcept {
  return frame - 1;
}

/// 128 bits that stand for a sequence of frames: two mixes with different multipliers, so that
/// equal hashes mean equal stacks for all practical purposes (the tests compare frame by frame). It
/// grows from the outermost frame inwards: stacks that share their outer frames share that work.
struct StackHash {
  /// Of no frames: not zero, so that a frame of zero counts too.
  std::uint64_t first = 0x243F6A8885A308D3;
  std::uint64_t second = 0x13198A2E03707344;

  /// The hash of this stack with one more frame called from it. The multipliers are the 64-bit
  /// golden ratio (Knuth, TAOCP 3, 6.4) and one of Steele and Vigna's ("Computationally easy,
  /// spectrally good multipliers", 2021).
  [[nodiscard]] constexpr StackHash with(std::uintptr_t frame) const noexcept {
    return {.first = (std::rotl(first, 27) ^ frame) * 0x9E3779B97F4A7C15,
            .second = (std::rotl(second, 31) + frame) * 0xD1342543DE82EF95};
  }

  /// The hash of this stack when it allocates for `owner`; the same where that is nobody. The two
  /// halves of the product change places so that the tables, which look at low bits, tell apart
  /// what differs in the owner's high bits alone.
  [[nodiscard]] constexpr StackHash owned_by(StackOwner owner) const noexcept {
    const std::uint64_t mixed = owner.bits() * 0x9E3779B97F4A7C15;
    return {.first = first ^ std::rotl(mixed, 32), .second = second ^ mixed};
  }

  friend constexpr bool operator==(const StackHash&, const StackHash&) noexcept = default;
};

/// A hash that no frames have (for all practical purposes, as above): of a stack that must not be
/// found again.
[[nodiscard]] constexpr StackHash hash_of_retired(StackId id) noexcept {
  return {.first = id * 0x9E3779B97F4A7C15, .second = 0x452821E638D01377};
}

/// The hash of `frames`, leaf first.
[[nodiscard]] constexpr StackHash hash_frames(std::span<const std::uintptr_t> frames) noexcept {
  StackHash hash;
  for (std::size_t i = frames.size(); i > 0; --i) hash = hash.with(frames[i - 1]);
  return hash;
}

}  // namespace alloctap
