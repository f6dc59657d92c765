/// Parser cursor and output of the demangler for Rust's v0 mangling.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "alloctap/symbol/bounded_text.hpp"

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

  /// Parses an optional `tag` and the base-62 number behind it. Returns the number plus 1, or 0 if
  /// the next character is not `tag`.
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

/// Returns the basic type for `tag`, or an empty string.
[[nodiscard]] constexpr std::string_view basic_type(char tag) noexcept {
  constexpr std::string_view kTypes[] = {"i8",   "bool",  "char",  "f64", "str", "f32", "",
                                         "u8",   "isize", "usize", "",    "i32", "u32", "i128",
                                         "u128", "_",     "",      "",    "i16", "u16", "()",
                                         "...",  "",      "i64",   "u64", "!"};
  return tag >= 'a' && tag <= 'z' ? kTypes[tag - 'a'] : std::string_view();
}

[[nodiscard]] constexpr bool is_signed_integer(char type) noexcept {
  return std::string_view("ailnsx").find(type) != std::string_view::npos;
}

[[nodiscard]] constexpr bool is_unsigned_integer(char type) noexcept {
  return std::string_view("hjmoty").find(type) != std::string_view::npos;
}

inline void append_decimal(std::uint64_t value, BoundedText& out) noexcept {
  char digits[20];
  const char* const end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out.append({digits, static_cast<std::size_t>(end - digits)});
}

/// Appends `character`. Escapes it as in a Rust literal delimited by `quote`.
inline void append_escaped(char32_t character, char quote, BoundedText& out) noexcept {
  constexpr std::string_view kControls("\t\r\n\0", 4);
  constexpr std::string_view kLetters = "trn0";
  const auto byte = static_cast<char>(character < 0x20 ? character : ' ');
  const std::size_t control = kControls.find(byte);
  const bool is_special = character == U'\\' || character == static_cast<unsigned char>(quote);
  if (is_special || control != kControls.npos) out.append("\\");
  if (control != kControls.npos) return out.append(kLetters.substr(control, 1));
  out.append_character(character);
}

/// Appends a string constant from hexadecimal bytes. Returns false if the number of digits is odd.
inline bool append_text_constant(std::string_view digits, BoundedText& out) noexcept {
  if (digits.size() % 2 != 0) return false;
  out.append("\"");
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    unsigned byte = 0;
    std::from_chars(digits.data() + i, digits.data() + i + 2, byte, 16);
    const char raw = static_cast<char>(byte);
    if (byte < 0x80) append_escaped(byte, '"', out);
    if (byte >= 0x80) out.append({&raw, 1});
  }
  out.append("\"");
  return true;
}

/// Appends a constant of basic type `type` with hexadecimal `digits`. Returns false if the digits
/// are invalid. Prints integers of more than 64 bits in hexadecimal.
inline bool append_constant(char type, std::string_view digits, BoundedText& out) noexcept {
  if (type == 'e') return append_text_constant(digits, out);
  std::uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  static_cast<void>(end);
  const bool fits = error == std::errc() || digits.empty();
  if (is_signed_integer(type) || is_unsigned_integer(type)) {
    if (!fits) out.append("0x");
    if (fits) append_decimal(value, out);
    if (!fits) out.append(digits);
    return true;
  }
  if (type == 'b' && fits && value <= 1) {
    out.append(value == 1 ? "true" : "false");
    return true;
  }
  const bool is_surrogate = value >= 0xD800 && value < 0xE000;
  if (type != 'c' || !fits || value > 0x10FFFF || is_surrogate) return false;
  out.append("'");
  append_escaped(static_cast<char32_t>(value), '\'', out);
  out.append("'");
  return true;
}

/// A Punycode decoder (RFC 3492, 6.2) for at most `kMaxCharacters` characters.
class Punycode {
 public:
  static constexpr std::size_t kMaxCharacters = 128;

  /// Appends `identifier`. Returns false, without output, if its Punycode is damaged or too long.
  static bool append(const Identifier& identifier, BoundedText& out) noexcept {
    Punycode decoded;
    if (identifier.ascii.size() > kMaxCharacters) return false;
    for (const char character : identifier.ascii) {
      decoded.characters_[decoded.size_++] = static_cast<unsigned char>(character);
    }
    if (!decoded.insert_all(identifier.punycode)) return false;
    for (std::size_t i = 0; i < decoded.size_; ++i) out.append_character(decoded.characters_[i]);
    return true;
  }

 private:
  static constexpr std::uint32_t kBase = 36;
  static constexpr std::uint32_t kTMin = 1;
  static constexpr std::uint32_t kTMax = 26;

  bool insert_all(std::string_view rest) noexcept {
    std::uint32_t bias = 72;
    std::uint32_t character = 0x80;
    std::uint32_t at = 0;
    for (bool first = true; !rest.empty(); first = false) {
      const std::optional<std::uint32_t> delta = take_delta(rest, bias);
      if (!delta || size_ == kMaxCharacters) return false;
      const auto count = static_cast<std::uint32_t>(size_ + 1);
      at += *delta;
      character += at / count;
      at %= count;
      if (character > 0x10FFFF || (character >= 0xD800 && character < 0xE000)) return false;
      std::copy_backward(&characters_[at], &characters_[size_], &characters_[size_] + 1);
      characters_[at++] = character;
      ++size_;
      bias = adapt(*delta / (first ? 700 : 2), count);
    }
    return true;
  }

  /// Parses a variable-length integer. Returns nullopt if it is truncated or too large.
  static std::optional<std::uint32_t> take_delta(std::string_view& rest,
                                                 std::uint32_t bias) noexcept {
    constexpr std::uint64_t kLimit = 0x10FFFF * (kMaxCharacters + 1);
    std::uint64_t delta = 0;
    std::uint64_t weight = 1;
    for (std::uint32_t k = kBase; !rest.empty() && weight <= kLimit; k += kBase) {
      const char letter = rest.front();
      rest.remove_prefix(1);
      const auto digit =
          static_cast<std::uint32_t>(letter >= 'a' ? letter - 'a' : letter - '0' + 26);
      if (digit >= kBase) return std::nullopt;
      delta += digit * weight;
      const std::uint32_t threshold = k <= bias ? kTMin : std::min(k - bias, kTMax);
      if (delta > kLimit) return std::nullopt;
      if (digit < threshold) return static_cast<std::uint32_t>(delta);
      weight *= kBase - threshold;
    }
    return std::nullopt;
  }

  static std::uint32_t adapt(std::uint32_t delta, std::uint32_t count) noexcept {
    delta += delta / count;
    std::uint32_t k = 0;
    for (; delta > ((kBase - kTMin) * kTMax) / 2; k += kBase) delta /= kBase - kTMin;
    return k + (kBase - kTMin + 1) * delta / (delta + 38);
  }

  std::array<char32_t, kMaxCharacters + 1> characters_{};
  std::size_t size_ = 0;
};

/// The base class of `Demangler`. Prints identifiers, lists, back references and lifetimes.
class Printer {
 public:
  Printer(std::string_view symbol, std::span<char> buffer) noexcept : in_(symbol), out_(buffer) {}

 protected:
  static constexpr int kMaxDepth = 256;

  /// A scope guard that counts the recursion depth. Parsing fails beyond `kMaxDepth`.
  class Level {
   public:
    explicit Level(Printer& printer) noexcept : printer_(printer) {
      if (++printer_.depth_ > kMaxDepth) printer_.in_.fail();
    }
    ~Level() { --printer_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Printer& printer_;
  };

  [[nodiscard]] bool is_done() const noexcept { return in_.failed() || out_.is_full(); }

  void print(std::string_view text) noexcept {
    if (skipped_ == 0 && !in_.failed()) out_.append(text);
  }

  void print_identifier(const Identifier& identifier) noexcept {
    if (skipped_ > 0 || in_.failed()) return;
    if (identifier.punycode.empty()) return out_.append(identifier.ascii);
    if (Punycode::append(identifier, out_)) return;
    print("punycode{");
    print(identifier.ascii);
    print("-");
    print(identifier.punycode);
    print("}");
  }

  void print_number(std::uint64_t value) noexcept {
    if (skipped_ == 0) append_decimal(value, out_);
  }

  /// Calls `print_one` for each element and prints separators. Returns the number of elements.
  template <class PrintOne>
  std::size_t print_list(std::string_view separator, PrintOne&& print_one) noexcept {
    std::size_t count = 0;
    for (; !is_done() && !in_.eat('E'); ++count) {
      if (count > 0) print(separator);
      print_one();
    }
    return count;
  }

  /// Prints the target of a back reference to an earlier position. While output is skipped, does
  /// not parse the target, because nested back references would take exponential time.
  template <class Print>
  void print_reference(Print&& print_target) noexcept {
    const std::size_t place = in_.position() - 1;
    const std::uint64_t target = in_.number();
    if (target >= place) in_.fail();
    if (is_done() || skipped_ > 0) return;
    const std::size_t behind = in_.position();
    in_.move_to(target);
    print_target();
    in_.move_to(behind);
  }

  template <class PrintOne>
  void print_tuple(PrintOne&& print_one) noexcept {
    print("(");
    if (print_list(", ", print_one) == 1) print(",");
    print(")");
  }

  /// Prints a lifetime by its de Bruijn index; 0 is the anonymous lifetime.
  void print_lifetime(std::uint64_t index) noexcept {
    if (skipped_ > 0) return;
    if (index > lifetimes_) return in_.fail();
    const std::uint64_t depth = lifetimes_ - index;
    print("'");
    if (index == 0) return print("_");
    const char letter = static_cast<char>('a' + depth % 26);
    if (depth < 26) return print({&letter, 1});
    print("z");
    print_number(depth - 26 + 1);
  }

  /// Prints a binder `for<'a, ...>`, then calls `print_inside`.
  template <class Print>
  void print_binder(Print&& print_inside) noexcept {
    const std::uint64_t bound = in_.optional_number('G');
    if (skipped_ > 0) return print_inside();
    const std::uint64_t outside = lifetimes_;
    if (bound > 0) print("for<");
    for (std::uint64_t i = 0; i < bound && !is_done(); ++i) {
      if (i > 0) print(", ");
      ++lifetimes_;
      print_lifetime(1);
    }
    if (bound > 0) print("> ");
    print_inside();
    lifetimes_ = outside;
  }

  Cursor in_;
  BoundedText out_;
  int depth_ = 0;
  /// Nesting depth of scopes that are parsed without output.
  int skipped_ = 0;
  /// Number of lifetimes bound by the enclosing binders.
  std::uint64_t lifetimes_ = 0;
};

}  // namespace alloctap::rust
