/// An x86-64 assembler for trampolines.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <span>

namespace alloctap::arch::x86_64 {

/// Length of a jump to any address, encoded as jmp [rip+0] followed by the address.
inline constexpr std::size_t kFarJumpBytes = 14;

/// Returns whether a rel32 displacement at the end `from` of an instruction reaches `to`.
constexpr bool is_in_reach(std::uintptr_t from, std::uintptr_t to) noexcept {
  const auto distance = static_cast<std::int64_t>(to - from);
  return distance >= std::numeric_limits<std::int32_t>::min() &&
         distance <= std::numeric_limits<std::int32_t>::max();
}

/// Appends code to `room`, which will be mapped at `address`. Drops bytes that do not fit, but
/// counts them in `size()`.
class CodeWriter {
 public:
  CodeWriter(std::span<std::byte> room, std::uintptr_t address) noexcept
      : room_(room), address_(address) {}

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::uintptr_t here() const noexcept { return address_ + size_; }
  [[nodiscard]] bool fits() const noexcept { return size_ <= room_.size(); }

  void put(std::initializer_list<unsigned> bytes) noexcept {
    for (const unsigned byte : bytes) put_byte(static_cast<std::byte>(byte));
  }
  void put(std::span<const std::byte> bytes) noexcept {
    for (const std::byte byte : bytes) put_byte(byte);
  }
  template <class Number>
  void put_number(Number number) noexcept {
    put(std::as_bytes(std::span(&number, 1)));
  }

  /// Writes the 4-byte displacement from its end to `to`. Precondition: `to` is in reach.
  void put_displacement(std::uintptr_t to) noexcept {
    put_number(static_cast<std::uint32_t>(to - (here() + sizeof(std::uint32_t))));
  }

  /// Writes jmp rel32 or, if `to` is out of reach, the long form of `kFarJumpBytes`.
  void jump(std::uintptr_t to) noexcept {
    if (is_in_reach(here() + kNearJumpBytes, to)) {
      put({0xE9});
      return put_displacement(to);
    }
    put({0xFF, 0x25, 0, 0, 0, 0});
    put_number(std::uint64_t{to});
  }

  /// Writes a jump through the word at `pointer`, which is in reach.
  void jump_through(std::uintptr_t pointer) noexcept {
    put({0xFF, 0x25});
    put_displacement(pointer);
  }

  /// Writes jcc rel32 or, if `to` is out of reach, an inverse jcc over a long jump.
  void jump_if(std::uint8_t condition, std::uintptr_t to) noexcept {
    if (is_in_reach(here() + kNearBranchBytes, to)) {
      put({0x0F, 0x80U + condition});
      return put_displacement(to);
    }
    put({0x70U + (condition ^ 1U), kFarJumpBytes});
    put({0xFF, 0x25, 0, 0, 0, 0});
    put_number(std::uint64_t{to});
  }

  /// Pushes `value` without changing registers, by push imm32 and a store of the upper half.
  void push(std::uintptr_t value) noexcept {
    put({0x68});
    put_number(static_cast<std::uint32_t>(value));
    put({0xC7, 0x44, 0x24, 0x04});
    put_number(static_cast<std::uint32_t>(std::uint64_t{value} >> 32));
  }

  void landing_pad() noexcept { put({0xF3, 0x0F, 0x1E, 0xFA}); }

 private:
  static constexpr std::size_t kNearJumpBytes = 5;
  static constexpr std::size_t kNearBranchBytes = 6;

  void put_byte(std::byte byte) noexcept {
    if (size_ < room_.size()) room_[size_] = byte;
    ++size_;
  }

  std::span<std::byte> room_;
  std::uintptr_t address_;
  std::size_t size_ = 0;
};

}  // namespace alloctap::arch::x86_64
