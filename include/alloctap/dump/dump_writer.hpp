/// Buffered formatter between a dump policy and an output, and the escaping and wrapping of text.
#pragma once

#include <algorithm>
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

/// Returns the length of the well-formed UTF-8 sequence at the start of `text`, or 0 if malformed
/// (Unicode 15, table 3-7). Precondition: `text` is not empty.
[[nodiscard]] constexpr std::size_t utf8_length(std::string_view text) noexcept {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xC2 && lead < 0xE0   ? 2
                             : lead >= 0xE0 && lead < 0xF0 ? 3
                             : lead >= 0xF0 && lead < 0xF5 ? 4
                                                           : 0;
  if (length == 0 || text.size() < length) return 0;
  const unsigned char least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned char most = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < least || byte(1) > most) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xBF) return 0;
  }
  return length;
}

/// Copies `text` to `[out, out + room)`. Replaces each byte that is not valid UTF-8 by U+FFFD,
/// because JSON is UTF-8, but paths on Linux may be any bytes. Stops before a character that does
/// not fit. Returns the number of bytes written. `room >= 3 * text.size()` always suffices.
[[nodiscard]] constexpr std::size_t copy_as_utf8(std::string_view text, char* out,
                                                 std::size_t room) noexcept {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  std::size_t written = 0;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view part = length == 0 ? kReplacement : text.substr(0, length);
    if (room - written < part.size()) break;
    for (const char character : part) out[written++] = character;
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return written;
}

/// Text from the program or a recording, such as a name. Written on one line of valid UTF-8, so
/// that the text cannot forge lines of a report or control a terminal.
struct PrintableText {
  explicit constexpr PrintableText(std::string_view from) noexcept : text(from) {}

  std::string_view text;
};

/// Returns the length of the character at the start of `text`, or 0 if it must be escaped: a
/// control character (including U+0080 to U+009F) or a byte that is not valid UTF-8.
[[nodiscard]] constexpr std::size_t printable_length(std::string_view text) noexcept {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x20 || lead == 0x7F) return 0;
  const std::size_t length = utf8_length(text);
  const bool is_control = length == 2 && lead == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0;
  return is_control ? 0 : length;
}

inline void write_escaped(char character, DumpWriter& out) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const auto code = static_cast<unsigned char>(character);
  if (character == '\n') {
    out << "\\n";
  } else if (character == '\t') {
    out << "\\t";
  } else if (character == '\r') {
    out << "\\r";
  } else {
    out << "\\x" << kDigits[code >> 4] << kDigits[code & 15];
  }
}

/// Writes the text. Escapes characters that are not printable as in C: \n, \x1b.
inline DumpWriter& operator<<(DumpWriter& out, PrintableText printable) {
  std::string_view text = printable.text;
  while (!text.empty()) {
    std::size_t plain = 0;
    while (plain < text.size()) {
      const std::size_t length = printable_length(text.substr(plain));
      if (length == 0) break;
      plain += length;
    }
    out << text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    write_escaped(text.front(), out);
    text.remove_prefix(1);
  }
  return out;
}

/// Writer of words with a space between them. A word that would end beyond `kWidth` characters
/// begins a new line, indented to the first word. A word longer than a line has a line of its own.
/// Escapes characters that are not printable. Control plane.
class WrappedText {
 public:
  static constexpr std::size_t kWidth = 100;

  /// `indent` is the number of characters that the line already has.
  WrappedText(DumpWriter& out, std::size_t indent) noexcept : out_(out), indent_(indent) {}

  void write(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find(' '), text.size());
      if (end > 0) write_word(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

 private:
  void write_word(std::string_view word) {
    if (column_ == 0) {
      column_ = indent_;
    } else if (column_ + 1 + word.size() <= kWidth) {
      out_ << ' ';
      ++column_;
    } else {
      out_ << "\n";
      out_.right("", indent_);
      column_ = indent_;
    }
    out_ << PrintableText(word);
    column_ += word.size();
  }

  DumpWriter& out_;
  std::size_t indent_;
  /// Current length of the line; 0 before the first word.
  std::size_t column_ = 0;
};

}  // namespace alloctap
