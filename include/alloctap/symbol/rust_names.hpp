/// Demangles Rust symbols, v0 and legacy.
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
