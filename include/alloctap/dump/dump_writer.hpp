/// The way from a dump policy to an output.
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

/// Collects text and passes it on in large pieces. After an error it swallows everything; `finish`
/// tells of the first one. Not thread-safe; memory from the arena.
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

  /// `number` in lower-case hexadecimal digits after "0x".
  DumpWriter& hex(std::uint64_t number) {
    *this << "0x";
    return hex_digits(number);
  }

  /// `number` in lower-case hexadecimal digits.
  DumpWriter& hex_digits(std::uint64_t number) { return write_number(number, 16); }

  /// `text`, filled up with spaces in front to `width` characters.
  DumpWriter& right(std::string_view text, std::size_t width) {
    for (std::size_t i = text.size(); i < width; ++i) *this << ' ';
    return *this << text;
  }

  /// For policies that cannot go on: makes the dump fail with `reason`.
  void fail(const char* reason) {
    if (status_.ok()) status_ = Status::resource_exhausted(reason);
  }

  [[nodiscard]] bool ok() const noexcept { return status_.ok(); }

  /// Passes on what is left; the outcome of all.
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
