/// Output primitives of the Rust demangler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "alloctap/symbol/bounded_text.hpp"
#include "alloctap/symbol/rust_constants.hpp"
#include "alloctap/symbol/rust_cursor.hpp"
#include "alloctap/symbol/rust_punycode.hpp"

namespace alloctap::rust {

/// The base of `Demangler`: prints identifiers, lists, back references and lifetimes.
class Printer {
 public:
  Printer(std::string_view symbol, std::span<char> buffer) noexcept : in_(symbol), out_(buffer) {}

 protected:
  static constexpr int kMaxDepth = 256;

  /// Counts the recursion depth in its scope, and fails beyond `kMaxDepth`.
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

  /// Calls `print_one` up to the end of the list, with separators. Returns the number of elements.
  template <class PrintOne>
  std::size_t print_list(std::string_view separator, PrintOne&& print_one) noexcept {
    std::size_t count = 0;
    for (; !is_done() && !in_.eat('E'); ++count) {
      if (count > 0) print(separator);
      print_one();
    }
    return count;
  }

  /// Prints a back reference to an earlier position. Does not follow it in skipped parts, which
  /// would take exponential time.
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

  /// Prints a binder `for<'a, ...>` and then what `print_inside` prints.
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
  /// Nesting depth of parts parsed without output.
  int skipped_ = 0;
  /// Number of lifetimes bound here.
  std::uint64_t lifetimes_ = 0;
};

}  // namespace alloctap::rust
