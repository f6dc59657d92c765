/// A string builder over a buffer of fixed size.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

namespace alloctap {

/// Appends text to the caller's buffer, truncated at the buffer's end. Allocates nothing.
class BoundedText {
 public:
  explicit BoundedText(std::span<char> buffer) noexcept : buffer_(buffer) {}

  void append(std::string_view text) noexcept {
    const std::size_t length = std::min(text.size(), buffer_.size() - size_);
    std::copy_n(text.data(), length, buffer_.data() + size_);
    size_ += length;
    full_ = full_ || length < text.size();
  }

  /// Appends a Unicode character in UTF-8. Appends nothing if the whole character does not fit.
  void append_character(char32_t character) noexcept {
    char bytes[4];
    const std::size_t length = encode(character, bytes);
    full_ = full_ || length > buffer_.size() - size_;
    if (!full_) append({bytes, length});
  }

  [[nodiscard]] std::string_view text() const noexcept { return {buffer_.data(), size_}; }
  /// Returns whether text was truncated.
  [[nodiscard]] bool is_full() const noexcept { return full_; }

 private:
  static std::size_t encode(char32_t character, char (&bytes)[4]) noexcept {
    if (character < 0x80) {
      bytes[0] = static_cast<char>(character);
      return 1;
    }
    const std::size_t length = character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    for (std::size_t i = length; i > 1; --i, character >>= 6) {
      bytes[i - 1] = static_cast<char>(0x80 | (character & 0x3F));
    }
    constexpr unsigned kFirstByte[] = {0, 0, 0xC0, 0xE0, 0xF0};
    bytes[0] = static_cast<char>(kFirstByte[length] | character);
    return length;
  }

  std::span<char> buffer_;
  std::size_t size_ = 0;
  bool full_ = false;
};

}  // namespace alloctap
