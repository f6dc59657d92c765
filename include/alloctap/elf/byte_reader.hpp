/// A bounds-checked reader of binary data.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace alloctap::elf {

/// A cursor over bytes with a sticky error. A read past the end returns 0 or an empty span, and all
/// later reads fail, too. So callers need to check `ok()` only once after several reads. Numbers
/// are in native byte order, as in files for this machine. Runs inside malloc.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) noexcept : rest_(bytes) {}

  /// Returns a reader in the failed state.
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

}  // namespace alloctap::elf
