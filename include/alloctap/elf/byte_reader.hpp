/// A bounds-checked reader of binary data, and the registers and words that an unwind step reads.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include "alloctap/arch/dwarf_registers.hpp"

namespace alloctap::elf {

/// A cursor over bytes with a sticky error. A read past the end returns 0 or an empty span, and all
/// later reads fail, too. So callers need to check `ok()` only once after several reads. Numbers
/// are in native byte order, as in files for this machine. Runs inside malloc.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) noexcept : rest_(bytes) {}

  [[nodiscard]] static ByteReader failed() noexcept {
    ByteReader reader({});
    reader.fail();
    return reader;
  }

  [[nodiscard]] bool ok() const noexcept { return ok_; }
  [[nodiscard]] bool at_end() const noexcept { return rest_.empty(); }
  [[nodiscard]] std::span<const std::byte> rest() const noexcept { return rest_; }
  /// Returns the address of the next byte.
  [[nodiscard]] std::uintptr_t address() const noexcept {
    return reinterpret_cast<std::uintptr_t>(rest_.data());
  }

  void fail() noexcept {
    ok_ = false;
    rest_ = rest_.last(0);
  }

  template <std::integral Number>
  [[nodiscard]] Number read() noexcept {
    Number number = 0;
    const auto bytes = read_bytes(sizeof number);
    if (!bytes.empty()) std::memcpy(&number, bytes.data(), sizeof number);
    return number;
  }

  [[nodiscard]] std::span<const std::byte> read_bytes(std::uint64_t count) noexcept {
    if (count > rest_.size()) {
      fail();
      return {};
    }
    const auto bytes = rest_.first(count);
    rest_ = rest_.subspan(count);
    return bytes;
  }

  /// Reads a NUL-terminated string of at most `most` characters; the result excludes the NUL.
  [[nodiscard]] std::string_view read_text(std::size_t most) noexcept {
    const auto head = rest_.first(std::min(rest_.size(), most + 1));
    const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
    const std::size_t length = text.find('\0');
    if (length == text.npos) {
      fail();
      return {};
    }
    rest_ = rest_.subspan(length + 1);
    return text.substr(0, length);
  }

  /// Read a LEB128 number (DWARF 5, 7.6). Fail if it exceeds 64 bits or ten bytes.
  [[nodiscard]] std::uint64_t read_uleb128() noexcept { return read_leb128(false); }
  [[nodiscard]] std::int64_t read_sleb128() noexcept {
    return static_cast<std::int64_t>(read_leb128(true));
  }

 private:
  std::uint64_t read_leb128(bool is_signed) noexcept {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift <= 63; shift += 7) {
      const auto byte = read<std::uint8_t>();
      value |= std::uint64_t{byte & 0x7FU} << shift;
      if (shift == 63 && !fits_in_last_bit(byte, is_signed)) break;
      if ((byte & 0x80U) != 0) continue;
      const bool negative = is_signed && (byte & 0x40U) != 0;
      if (negative && shift < 63) value |= ~std::uint64_t{0} << (shift + 7);
      return value;
    }
    fail();
    return 0;
  }

  /// Returns whether the tenth `byte` adds only bit 63 of the number, or bits that repeat the sign.
  static bool fits_in_last_bit(std::uint8_t byte, bool is_signed) noexcept {
    return byte == 0 || byte == (is_signed ? 0x7F : 1);
  }

  std::span<const std::byte> rest_;
  bool ok_ = true;
};

/// A callable that reads the word at an address, aligned or not. Returns false if the word is not
/// readable, or if the reader finds that the word is not in the stack.
template <class Reader>
concept WordReader = requires(Reader& reader, std::uintptr_t address, std::uintptr_t& word) {
  { reader(address, word) } noexcept -> std::same_as<bool>;
};

/// A non-owning, type-erased reference to a `WordReader`. Avoids an instantiation of the large
/// table interpreters for each type of reader.
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

/// A frame's register values by DWARF number, each known or not. Untracked numbers are never known.
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
