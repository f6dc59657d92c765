/// An A64 assembler for trampolines.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "alloctap/arch/aarch64/instruction.hpp"

namespace alloctap::arch::aarch64 {

/// Register numbers. `kScratch` and `kSecondScratch` are the ABI's scratch registers for linker
/// veneers, so any call may change them.
inline constexpr std::uint32_t kScratch = 16;
inline constexpr std::uint32_t kSecondScratch = 17;
inline constexpr std::uint32_t kLinkRegister = 30;
inline constexpr std::uint32_t kZeroRegister = 31;

/// Returns whether b at `from` reaches `to`: 128 MiB, both aligned to 4.
constexpr bool is_branch_in_reach(std::uintptr_t from, std::uintptr_t to) noexcept {
  constexpr std::int64_t kReach = std::int64_t{1} << 27;
  const auto distance = static_cast<std::int64_t>(to - from);
  return distance >= -kReach && distance < kReach;
}

/// Encodes b at `from` to `to`, which is in reach.
constexpr std::uint32_t branch_word(std::uintptr_t from, std::uintptr_t to) noexcept {
  return 0x14000000U | (static_cast<std::uint32_t>((to - from) >> 2) & 0x03FFFFFFU);
}

/// Returns whether ldr at `from` reaches the word at `to`: 1 MiB.
constexpr bool is_load_in_reach(std::uintptr_t from, std::uintptr_t to) noexcept {
  constexpr std::int64_t kReach = std::int64_t{1} << 20;
  const auto distance = static_cast<std::int64_t>(to - from);
  return distance >= -kReach && distance < kReach;
}

/// Appends instructions to `room`, which will be mapped at `address`, aligned to 8. Precondition:
/// `room` is large enough. The last eight bytes of `room` are reserved for a literal.
class CodeWriter {
 public:
  CodeWriter(std::span<std::byte> room, std::uintptr_t address) noexcept
      : room_(room), address_(address) {}

  [[nodiscard]] std::uintptr_t here() const noexcept { return address_ + size_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// Returns whether every branch and load so far is in reach.
  [[nodiscard]] bool reaches() const noexcept { return reaches_; }

  void put(std::uint32_t word) noexcept {
    std::memcpy(room_.data() + size_, &word, sizeof word);
    size_ += sizeof word;
  }
  void landing_pad() noexcept { put(0xD503245F); }
  void jump(std::uintptr_t to) noexcept {
    reaches_ &= is_branch_in_reach(here(), to);
    put(branch_word(here(), to));
  }
  void jump_to_register(std::uint32_t number) noexcept { put(0xD61F0000 | number << 5); }
  void move_register(std::uint32_t to, std::uint32_t from) noexcept {
    put(0xAA0003E0 | from << 16 | to);
  }
  /// Loads the word at `pointer` into a register.
  void load(std::uint32_t number, std::uintptr_t pointer) noexcept {
    reaches_ &= is_load_in_reach(here(), pointer);
    const auto words = static_cast<std::uint32_t>((pointer - here()) >> 2);
    put(0x58000000 | (words & 0x7FFFF) << 5 | number);
  }
  /// Stores `value` in the literal and loads it into a register. Call it at most once, because
  /// there is one literal.
  void load_number(std::uint32_t number, std::uint64_t value) noexcept {
    const std::size_t literal = room_.size() - sizeof value;
    std::memcpy(room_.data() + literal, &value, sizeof value);
    load(number, address_ + literal);
  }

 private:
  std::span<std::byte> room_;
  std::uintptr_t address_;
  std::size_t size_ = 0;
  bool reaches_ = true;
};

}  // namespace alloctap::arch::aarch64
