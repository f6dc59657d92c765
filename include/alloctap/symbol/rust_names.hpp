/// Functions of Rust by their symbols.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <span>
#include <string_view>

#include "alloctap/symbol/bounded_text.hpp"
#include "alloctap/symbol/rust_demangler.hpp"

namespace alloctap {

/// Demangles `symbol` into `buffer`, as far as that reaches; empty if it does not have Rust's v0
/// mangling (RFC 2603). Allocates nothing.
[[nodiscard]] inline std::string_view demangle_rust(std::string_view symbol,
                                                    std::span<char> buffer) noexcept {
  constexpr std::string_view kPrefix = "_R";
  if (!symbol.starts_with(kPrefix)) return {};
  return rust::Demangler(symbol.substr(kPrefix.size()), buffer).demangle();
}

namespace rust {

/// Returns the length of `name` without the hash that ends a name of Rust's legacy mangling; 0 if
/// it does not end in one.
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

/// Takes an escape such as "$LT$" off the front of `rest` and appends what it means; false if none
/// is there.
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

/// Rewrites `name`, a name of Rust's legacy mangling that was demangled as one of C++, as its
/// author wrote it: without its hash and escapes. Returns its new length, which is not larger; that
/// of `name` if it is no such name. Allocates nothing.
[[nodiscard]] inline std::size_t rewrite_legacy_rust(std::span<char> name) noexcept {
  const std::size_t length = rust::length_without_hash({name.data(), name.size()});
  if (length == 0) return name.size();
  // What an escape means is never longer than the escape, so the text stays behind what is read.
  std::string_view rest(name.data(), length);
  BoundedText out(name);
  while (!rest.empty()) {
    const bool begins_part = out.text().empty() || out.text().ends_with(':');
    // What would not begin an identifier has an underscore in front.
    if (begins_part && rest.starts_with("_$")) rest.remove_prefix(1);
    if (rust::append_escape(rest, out)) continue;
    const char character = rest.front();
    rest.remove_prefix(1);
    out.append({&character, 1});
  }
  return out.text().size();
}

}  // namespace alloctap
