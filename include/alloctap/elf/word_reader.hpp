/// The known registers and the readable stack words of a frame, as input of an unwind step.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "alloctap/arch/dwarf_registers.hpp"

namespace alloctap::elf {

// The concept of a stack reader for unwind table interpreters, and a type-erased reference to one.

/// A callable that reads the word at an address, aligned or not. Returns false if the word is not
/// readable, or if the reader finds that the word is not in the stack.
template <class Reader>
concept WordReader = requires(Reader& reader, std::uintptr_t address, std::uintptr_t& word) {
  { reader(address, word) } noexcept -> std::same_as<bool>;
};

/// A non-owning, type-erased reference to a `WordReader`. It keeps the large table interpreters
/// from being instantiated for each kind of memory.
class WordReaderRef {
 public:
  template <class Reader>
    requires(WordReader<std::remove_reference_t<Reader>> &&
             !std::is_function_v<std::remove_reference_t<Reader>> &&
             !std::same_as<std::remove_cvref_t<Reader>, WordReaderRef>)
  // NOLINTNEXTLINE(google-explicit-constructor): converts implicitly, like std::function_ref
  WordReaderRef(Reader&& reader) noexcept
      : reader_(const_cast<void*>(static_cast<const void*>(&reader))),
        read_(&read_by<std::remove_reference_t<Reader>>) {}

  bool operator()(std::uintptr_t address, std::uintptr_t& word) const noexcept {
    return read_(reader_, address, word);
  }

 private:
  using Read = bool (*)(void*, std::uintptr_t, std::uintptr_t&) noexcept;

  template <class Reader>
  static bool read_by(void* reader, std::uintptr_t address, std::uintptr_t& word) noexcept {
    return (*static_cast<Reader*>(reader))(address, word);
  }

  void* reader_;
  Read read_;
};

// The known registers of one frame during an unwind.

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
