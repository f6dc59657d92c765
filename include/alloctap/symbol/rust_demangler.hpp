/// A demangler for Rust symbols, v0 and legacy.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "alloctap/symbol/bounded_text.hpp"
#include "alloctap/symbol/rust_printer.hpp"

namespace alloctap::rust {

/// Demangles one symbol of the v0 mangling (RFC 2603). Like `c++filt`, omits crate hashes and types
/// of constants. A recursive-descent parser with at most `kMaxDepth` levels; stops when the buffer
/// is full. Allocates nothing, so it may run in a crash report.
class Demangler : Printer {
 public:
  using Printer::Printer;

  /// Returns the demangled name, truncated to the buffer; empty after a syntax error.
  std::string_view demangle() noexcept {
    print_path(true);
    const char rest = in_.peek();
    if (!is_done() && rest >= 'A' && rest <= 'Z') skip_path();
    const bool has_suffix = in_.peek() == '\0' || in_.peek() == '.' || in_.peek() == '$';
    const bool is_whole = !in_.failed() && (out_.is_full() || has_suffix);
    return is_whole ? out_.text() : std::string_view();
  }

 private:
  void skip_path() noexcept {
    ++skipped_;
    print_path(false);
    --skipped_;
  }

  /// Prints a path. If `in_value`, writes generic arguments with the turbofish "::<".
  void print_path(bool in_value) noexcept {
    const Level level(*this);
    if (is_done()) return;
    switch (const char tag = in_.next()) {
      case 'C':
        return print_identifier(in_.identifier());
      case 'N':
        return print_nested(in_value);
      case 'M':
      case 'X':
        in_.optional_number('s');
        skip_path();
        return print_qualified(tag == 'X');
      case 'Y':
        return print_qualified(true);
      case 'I':
        print_path(in_value);
        print(in_value ? "::<" : "<");
        print_list(", ", [this] { print_argument(); });
        return print(">");
      case 'B':
        return print_reference([&] { print_path(in_value); });
      default:
        return in_.fail();
    }
  }

  void print_nested(bool in_value) noexcept {
    const char space = in_.next();
    print_path(in_value);
    const Identifier name = in_.identifier();
    if (space >= 'a' && space <= 'z') {
      if (!name.empty()) print("::");
      return print_identifier(name);
    }
    print("::{");
    print(space == 'C' ? "closure" : space == 'S' ? "shim" : std::string_view(&space, 1));
    if (!name.empty()) print(":");
    print_identifier(name);
    print("#");
    print_number(name.disambiguator);
    print("}");
  }

  void print_qualified(bool has_trait) noexcept {
    print("<");
    print_type();
    if (has_trait) {
      print(" as ");
      print_path(false);
    }
    print(">");
  }

  void print_argument() noexcept {
    if (in_.eat('L')) return print_lifetime(in_.number());
    if (in_.eat('K')) return print_constant();
    print_type();
  }

  void print_type() noexcept {
    const Level level(*this);
    if (is_done()) return;
    const char tag = in_.next();
    const std::string_view basic = basic_type(tag);
    if (!basic.empty()) return print(basic);
    switch (tag) {
      case 'R':
      case 'Q':
        return print_reference_type(tag == 'Q');
      case 'P':
      case 'O':
        print(tag == 'P' ? "*const " : "*mut ");
        return print_type();
      case 'A':
      case 'S':
        return print_array(tag == 'A');
      case 'T':
        return print_tuple([this] { print_type(); });
      case 'F':
        return print_binder([this] { print_function(); });
      case 'D':
        return print_trait_object();
      case 'B':
        return print_reference([this] { print_type(); });
      default:
        in_.move_to(in_.position() - 1);
        return print_path(false);
    }
  }

  void print_reference_type(bool is_mutable) noexcept {
    print("&");
    const std::uint64_t lifetime = in_.eat('L') ? in_.number() : 0;
    if (lifetime != 0) {
      print_lifetime(lifetime);
      print(" ");
    }
    if (is_mutable) print("mut ");
    print_type();
  }

  void print_array(bool has_length) noexcept {
    print("[");
    print_type();
    if (has_length) {
      print("; ");
      print_constant();
    }
    print("]");
  }

  void print_function() noexcept {
    if (in_.eat('U')) print("unsafe ");
    if (in_.eat('K')) print_abi();
    print("fn(");
    print_list(", ", [this] { print_type(); });
    print(")");
    if (in_.eat('u')) return;
    print(" -> ");
    print_type();
  }

  void print_abi() noexcept {
    print("extern \"");
    if (in_.eat('C')) {
      print("C");
    } else {
      // A hyphen in a name is mangled as an underscore.
      for (const char c : in_.plain_identifier().ascii)
        print(c == '_' ? "-" : std::string_view(&c, 1));
    }
    print("\" ");
  }

  void print_trait_object() noexcept {
    print("dyn ");
    print_binder([this] { print_list(" + ", [this] { print_bound(); }); });
    if (!in_.eat('L')) return in_.fail();
    const std::uint64_t lifetime = in_.number();
    if (lifetime == 0) return;
    print(" + ");
    print_lifetime(lifetime);
  }

  /// Prints a trait with its associated types.
  void print_bound() noexcept {
    bool is_open = print_open_path();
    while (!is_done() && in_.eat('p')) {
      print(is_open ? ", " : "<");
      is_open = true;
      print_identifier(in_.plain_identifier());
      print(" = ");
      print_type();
    }
    if (is_open) print(">");
  }

  /// Prints a path. Returns true if the path ends in generic arguments whose '>' is not printed
  /// yet, so that the caller may append more.
  bool print_open_path() noexcept {
    const Level level(*this);
    bool is_open = false;
    if (is_done()) return false;
    if (in_.eat('B')) {
      print_reference([&] { is_open = print_open_path(); });
    } else if (in_.eat('I')) {
      print_path(false);
      print("<");
      print_list(", ", [this] { print_argument(); });
      is_open = true;
    } else {
      print_path(false);
    }
    return is_open;
  }

  void print_constant() noexcept {
    const Level level(*this);
    if (is_done()) return;
    switch (const char tag = in_.next()) {
      case 'B':
        return print_reference([this] { print_constant(); });
      case 'R':
      case 'Q':
        if (tag == 'R' && in_.eat('e')) return print_value('e');
        print(tag == 'R' ? "&" : "&mut ");
        return print_constant();
      case 'A':
        print("[");
        print_list(", ", [this] { print_constant(); });
        return print("]");
      case 'T':
        return print_tuple([this] { print_constant(); });
      case 'V':
        return print_structure();
      default:
        return print_value(tag);
    }
  }

  void print_structure() noexcept {
    print_path(true);
    switch (in_.next()) {
      case 'U':
        return;
      case 'T':
        print("(");
        print_list(", ", [this] { print_constant(); });
        return print(")");
      case 'S':
        print(" { ");
        print_list(", ", [this] { print_field(); });
        return print(" }");
      default:
        return in_.fail();
    }
  }

  void print_field() noexcept {
    print_identifier(in_.identifier());
    print(": ");
    print_constant();
  }

  void print_value(char type) noexcept {
    if (type == 'p') return print("_");
    const bool is_negative = is_signed_integer(type) && in_.eat('n');
    const std::string_view digits = in_.hexadecimal();
    if (is_negative) print("-");
    if (skipped_ == 0 && !in_.failed() && !append_constant(type, digits, out_)) in_.fail();
  }
};

}  // namespace alloctap::rust

namespace alloctap {

/// Demangles a symbol of Rust's v0 mangling (RFC 2603) into `buffer`, where the name may be
/// truncated. Returns an empty string for other symbols. Allocates nothing.
[[nodiscard]] inline std::string_view demangle_rust(std::string_view symbol,
                                                    std::span<char> buffer) noexcept {
  constexpr std::string_view kPrefix = "_R";
  if (!symbol.starts_with(kPrefix)) return {};
  return rust::Demangler(symbol.substr(kPrefix.size()), buffer).demangle();
}

namespace rust {

/// Returns the length of `name` without the hash of Rust's legacy mangling; 0 if it has no hash.
[[nodiscard]] inline std::size_t length_without_hash(std::string_view name) noexcept {
  constexpr std::string_view kPrefix = "::h";
  constexpr std::size_t kDigits = 16;
  if (name.size() < kPrefix.size() + kDigits) return 0;
  const std::size_t length = name.size() - kPrefix.size() - kDigits;
  const std::string_view digits = name.substr(length + kPrefix.size());
  const bool is_hash = name.substr(length).starts_with(kPrefix) &&
                       digits.find_first_not_of("0123456789abcdef") == digits.npos;
  return is_hash ? length : 0;
}

/// Removes an escape such as "$LT$" from the front of `rest` and appends the character that it
/// encodes. Returns false if `rest` does not begin with an escape.
inline bool append_escape(std::string_view& rest, BoundedText& out) noexcept {
  struct Escape {
    std::string_view text;
    std::string_view meaning;
  };
  static constexpr std::array<Escape, 9> kEscapes{{{"$SP$", "@"},
                                                   {"$BP$", "*"},
                                                   {"$RF$", "&"},
                                                   {"$LT$", "<"},
                                                   {"$GT$", ">"},
                                                   {"$LP$", "("},
                                                   {"$RP$", ")"},
                                                   {"$C$", ","},
                                                   {"..", "::"}}};
  for (const Escape& escape : kEscapes) {
    if (!rest.starts_with(escape.text)) continue;
    rest.remove_prefix(escape.text.size());
    out.append(escape.meaning);
    return true;
  }
  unsigned character = 0;
  const std::size_t end = rest.find('$', 1);
  if (!rest.starts_with("$u") || end == rest.npos) return false;
  const char* const last = rest.data() + end;
  if (std::from_chars(rest.data() + 2, last, character, 16).ptr != last) return false;
  if (character < 0x20 || character > 0x10FFFF) return false;
  rest.remove_prefix(end + 1);
  out.append_character(character);
  return true;
}

}  // namespace rust

/// Completes the demangling of a legacy Rust symbol: `name` is the symbol demangled as C++. Removes
/// the hash and decodes escapes in place. Returns the new length, which is at most the old one.
/// Leaves other names unchanged. Allocates nothing.
[[nodiscard]] inline std::size_t rewrite_legacy_rust(std::span<char> name) noexcept {
  const std::size_t length = rust::length_without_hash({name.data(), name.size()});
  if (length == 0) return name.size();
  // Decoded text is never longer than its escape, so writing in place never overtakes reading.
  std::string_view rest(name.data(), length);
  BoundedText out(name);
  while (!rest.empty()) {
    const bool begins_part = out.text().empty() || out.text().ends_with(':');
    // Legacy mangling prefixes an escape at the start of an identifier with an underscore.
    if (begins_part && rest.starts_with("_$")) rest.remove_prefix(1);
    if (rust::append_escape(rest, out)) continue;
    const char character = rest.front();
    rest.remove_prefix(1);
    out.append({&character, 1});
  }
  return out.text().size();
}

}  // namespace alloctap
