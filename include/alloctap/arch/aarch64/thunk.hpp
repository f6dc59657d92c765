/// Recognizes thunks: functions that only jump to another one, such as PLT entries.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "alloctap/arch/aarch64/instruction.hpp"
#include "alloctap/arch/thunk_destination.hpp"

namespace alloctap::arch::aarch64 {

namespace thunks {

/// The first instructions of the code, without the landing pad. Words beyond its end are 0.
struct Words {
  Words(std::span<const std::byte> code, std::uintptr_t address) noexcept {
    std::size_t skipped = 0;
    const auto at = [&](std::size_t index) {
      const std::size_t offset = (index + skipped) * kInstructionBytes;
      if (code.size() < offset + kInstructionBytes) return Instruction{};
      return decode_instruction(code.subspan(offset), address + offset);
    };
    if (at(0).form == Form::kLandingPad) skipped = 1;
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = at(i);
  }
  [[nodiscard]] const Instruction& operator[](std::size_t index) const noexcept {
    return words[index];
  }
  std::array<Instruction, 5> words;
};

/// The fields of the instructions ldr x, [x, #offset] and add x, x, #offset.
struct OffsetForm {
  explicit constexpr OffsetForm(std::uint32_t word) noexcept
      : to(word & 31), base(word >> 5 & 31), offset(word >> 10 & 0xFFF) {}
  std::uint32_t to;
  std::uint32_t base;
  std::uint32_t offset;
};

constexpr bool is_load(std::uint32_t word) noexcept { return (word & 0xFFC00000) == 0xF9400000; }
constexpr bool is_addition(std::uint32_t word) noexcept {
  return (word & 0xFFC00000) == 0x91000000;
}
constexpr bool is_jump_to(std::uint32_t word, std::uint32_t number) noexcept {
  return word == (0xD61F0000 | number << 5);
}

/// Matches the sequence adrp, then ldr or add, then br. It may also contain an addition to the base
/// (for lazy binding) and a pointer authentication.
inline std::optional<ThunkDestination> page_destination(const Words& words) noexcept {
  constexpr std::uint32_t kAuthenticates = 0xD503219F;
  const OffsetForm form(words[1].word);
  const bool loads = is_load(words[1].word);
  const bool has_base = form.base == (words[0].word & 31);
  if (!has_base || (!loads && !is_addition(words[1].word))) return std::nullopt;
  std::size_t next = 2;
  const OffsetForm addition(words[next].word);
  const bool adds_to_base = is_addition(words[next].word) && addition.to == form.base;
  if (loads && adds_to_base && form.to != form.base) ++next;
  if (words[next].word == kAuthenticates) ++next;
  if (!is_jump_to(words[next].word, form.to)) return std::nullopt;
  const std::uintptr_t page = words[0].target;
  if (loads) return ThunkDestination{.pointer = page + std::uintptr_t{form.offset} * 8};
  return ThunkDestination{.address = page + form.offset};
}

}  // namespace thunks

/// Returns the destination of `code` at `address` if it is a thunk. Otherwise returns nullopt. A
/// thunk has an optional bti, followed by one of three forms. They are: b; ldr of a literal and br;
/// adrp, then ldr or add, then br (PLT entries and linker veneers).
inline std::optional<ThunkDestination> thunk_destination(std::span<const std::byte> code,
                                                         std::uintptr_t address) noexcept {
  const thunks::Words words(code, address);
  const Instruction& first = words[0];
  if (first.form == Form::kJump) return ThunkDestination{.address = first.target};
  if (first.form == Form::kPageAddress) return thunks::page_destination(words);
  const bool loads_word = (first.word & 0xFF000000) == 0x58000000;
  if (loads_word && thunks::is_jump_to(words[1].word, first.word & 31)) {
    return ThunkDestination{.pointer = first.target};
  }
  return std::nullopt;
}

/// Returns whether `code` is a lazy binding stub: an optional bti, then stp x16, x30, [sp, #-16]!.
/// No compiler generates a function that begins with this store.
inline bool is_binding_stub(std::span<const std::byte> code) noexcept {
  constexpr std::uint32_t kStore = 0xA9BF7BF0;
  return thunks::Words(code, 0)[0].word == kStore;
}

}  // namespace alloctap::arch::aarch64
