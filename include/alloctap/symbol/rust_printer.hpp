/// Output primitives of the Rust demangler.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "alloctap/symbol/bounded_text.hpp"
#include "alloctap/symbol/rust_constants.hpp"
#include "alloctap/symbol/rust_cursor.hpp"

namespace alloctap::rust {

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
