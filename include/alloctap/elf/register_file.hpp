/// The known registers of one frame during an unwind.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "alloctap/arch/dwarf_registers.hpp"

namespace alloctap::elf {

/// Register values by DWARF number, each known or unknown. Untracked numbers are never known.
class RegisterFile {
 public:
  static constexpr std::size_t kCount = arch::DwarfRegisters::kCount;
  static_assert(kCount <= 64, "the mask has one bit per register");

  [[nodiscard]] std::optional<std::uintptr_t> get(std::uint64_t number) const noexcept {
    const bool known = number < kCount && (known_ >> number & 1) != 0;
    return known ? std::optional(values_[number]) : std::nullopt;
  }

  /// Sets a register, or marks it as unknown if `value` is nullopt.
  void set(std::size_t number, std::optional<std::uintptr_t> value) noexcept {
    if (number >= kCount) return;
    const std::uint64_t bit = std::uint64_t{1} << number;
    known_ = value ? known_ | bit : known_ & ~bit;
    values_[number] = value.value_or(0);
  }

  friend bool operator==(const RegisterFile&, const RegisterFile&) = default;

 private:
  std::array<std::uintptr_t, kCount> values_{};
  std::uint64_t known_ = 0;
};

}  // namespace alloctap::elf
