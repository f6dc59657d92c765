/// A tokenizer for Rust's v0 mangling.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

namespace alloctap::rust {

/// An identifier, and the number that distinguishes it from equal identifiers in its scope.
struct Identifier {
  std::uint64_t disambiguator = 0;
  std::string_view ascii;
  /// The Punycode (RFC 3492) of the non-ASCII characters. Empty if all characters are ASCII.
  std::string_view punycode;

  [[nodiscard]] bool empty() const noexcept { return ascii.empty() && punycode.empty(); }
};

/// A parser cursor over a mangled name. After the first syntax error, `failed` returns true and all
/// results are meaningless. Allocates nothing.
class Cursor {
 public:
  explicit Cursor(std::string_view symbol) noexcept : symbol_(symbol) {}

  [[nodiscard]] bool failed() const noexcept { return failed_; }
  void fail() noexcept { failed_ = true; }

  [[nodiscard]] std::size_t position() const noexcept { return at_; }
  void move_to(std::size_t position) noexcept { at_ = position; }

  /// Returns the next character, or '\0' at the end.
  [[nodiscard]] char peek() const noexcept { return at_ < symbol_.size() ? symbol_[at_] : '\0'; }
  char next() noexcept {
    if (at_ >= symbol_.size()) fail();
    return failed_ ? '\0' : symbol_[at_++];
  }
  bool eat(char wanted) noexcept {
    const bool found = !failed_ && peek() == wanted;
    if (found) ++at_;
    return found;
  }

  /// Parses a base-62 number: "_" is 0, "0_" is 1.
  std::uint64_t number() noexcept {
    if (eat('_')) return 0;
    std::uint64_t value = 0;
    while (!failed_ && !eat('_')) append_digit(value, 62, value_of(next()));
    if (value == kMaximum) fail();
    return value + 1;
  }

  /// Parses an optional base-62 number that follows `tag`. Returns 0 if `tag` does not follow.
  /// Otherwise returns the number plus 1.
  std::uint64_t optional_number(char tag) noexcept {
    if (!eat(tag)) return 0;
    const std::uint64_t value = number();
    if (value == kMaximum) fail();
    return value + 1;
  }

  /// Parses the hexadecimal digits of a constant and the underscore that ends them.
  std::string_view hexadecimal() noexcept {
    const std::size_t begin = at_;
    while (is_digit(peek()) || (peek() >= 'a' && peek() <= 'f')) ++at_;
    const std::string_view digits = symbol_.substr(begin, at_ - begin);
    if (!eat('_')) fail();
    return digits;
  }

  Identifier identifier() noexcept {
    const std::uint64_t disambiguator = optional_number('s');
    Identifier found = plain_identifier();
    found.disambiguator = disambiguator;
    return found;
  }

  Identifier plain_identifier() noexcept {
    const bool has_punycode = eat('u');
    const std::size_t length = decimal();
    eat('_');
    if (length > symbol_.size() - at_) fail();
    if (failed_) return {};
    const std::string_view name = symbol_.substr(at_, length);
    at_ += length;
    if (!has_punycode) return {.ascii = name, .punycode = {}};
    const std::size_t end = name.rfind('_');
    if (end == name.npos) return {.ascii = {}, .punycode = name};
    return {.ascii = name.substr(0, end), .punycode = name.substr(end + 1)};
  }

 private:
  static constexpr std::uint64_t kMaximum = std::numeric_limits<std::uint64_t>::max();

  static bool is_digit(char character) noexcept { return character >= '0' && character <= '9'; }

  /// Returns the value of a base-62 digit, or 62 for other characters.
  static unsigned value_of(char digit) noexcept {
    if (is_digit(digit)) return static_cast<unsigned>(digit - '0');
    if (digit >= 'a' && digit <= 'z') return static_cast<unsigned>(digit - 'a') + 10;
    if (digit >= 'A' && digit <= 'Z') return static_cast<unsigned>(digit - 'A') + 36;
    return 62;
  }

  void append_digit(std::uint64_t& value, unsigned base, unsigned digit) noexcept {
    if (digit >= base || value > (kMaximum - digit) / base) return fail();
    value = value * base + digit;
  }

  std::size_t decimal() noexcept {
    if (!is_digit(peek())) fail();
    if (eat('0')) return 0;
    std::uint64_t value = 0;
    while (!failed_ && is_digit(peek())) append_digit(value, 10, value_of(next()));
    return value;
  }

  std::string_view symbol_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

}  // namespace alloctap::rust
