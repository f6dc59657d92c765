/// Buffered formatter between a dump policy and an output.
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "alloctap/dump/outputs.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// Output stream with a buffer of 64 KiB in arena memory. After an error, discards further output;
/// `finish` returns the first error. Not thread-safe.
class DumpWriter {
 public:
  explicit DumpWriter(OutputRef output) noexcept : output_(output) {
    if (!buffer_.resize(kBufferBytes)) {
      status_ = Status::resource_exhausted("dump: the system has no memory for a buffer");
    }
  }

  ALLOCTAP_NOINLINE DumpWriter& operator<<(std::string_view text) {
    while (!text.empty() && status_.ok()) {
      const std::size_t part = std::min(text.size(), buffer_.size() - used_);
      std::memcpy(buffer_.data() + used_, text.data(), part);
      used_ += part;
      text.remove_prefix(part);
      if (used_ == buffer_.size()) flush();
    }
    return *this;
  }

  ALLOCTAP_NOINLINE DumpWriter& operator<<(char character) {
    return *this << std::string_view(&character, 1);
  }

  template <std::integral Number>
  DumpWriter& operator<<(Number number) {
    if constexpr (std::is_signed_v<Number>) {
      if (number < 0) *this << '-';
      const auto value = static_cast<std::uint64_t>(number);
      return write_number(number < 0 ? 0 - value : value, 10);
    } else {
      return write_number(number, 10);
    }
  }

  /// Writes `number` in lower-case hexadecimal digits after "0x".
  DumpWriter& hex(std::uint64_t number) {
    *this << "0x";
    return hex_digits(number);
  }

  /// Writes `number` in lower-case hexadecimal digits without a prefix.
  DumpWriter& hex_digits(std::uint64_t number) { return write_number(number, 16); }

  /// Writes `text`, padded on the left with spaces to `width` characters.
  DumpWriter& right(std::string_view text, std::size_t width) {
    for (std::size_t i = text.size(); i < width; ++i) *this << ' ';
    return *this << text;
  }

  /// Makes the dump fail with `reason` if the dump has not failed before.
  void fail(const char* reason) {
    if (status_.ok()) status_ = Status::resource_exhausted(reason);
  }

  [[nodiscard]] bool ok() const noexcept { return status_.ok(); }

  /// Writes the rest of the buffer. Returns the first error of the dump, or OK.
  [[nodiscard]] Status finish() {
    flush();
    return status_;
  }

 private:
  static constexpr std::size_t kBufferBytes = 64 * 1024;

  ALLOCTAP_NOINLINE DumpWriter& write_number(std::uint64_t number, int base) {
    char digits[24];
    const auto [end, error] = std::to_chars(digits, digits + sizeof digits, number, base);
    static_cast<void>(error);
    return *this << std::string_view(digits, static_cast<std::size_t>(end - digits));
  }

  void flush() {
    if (status_.ok() && used_ > 0) status_ = output_.write({buffer_.data(), used_});
    used_ = 0;
  }

  OutputRef output_;
  ArenaArray<char> buffer_;
  std::size_t used_ = 0;
  Status status_;
};

}  // namespace alloctap
