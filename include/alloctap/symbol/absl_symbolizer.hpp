/// Function names from the modules' symbol tables, by Abseil.
#pragma once

#include <absl/debugging/symbolize.h>

#include <array>
#include <cstddef>

#include "alloctap/symbol/bounded_text.hpp"
#include "alloctap/symbol/module_table.hpp"
#include "alloctap/symbol/rust_names.hpp"
#include "alloctap/symbol/symbolizer.hpp"

namespace alloctap {

/// `absl::Symbolize`: demangled names, template arguments left out, from .symtab or .dynsym; no
/// files and lines. It has memory of its own and reads files, so it works while the host's
/// allocator is locked. It scans a symbol table for every place: some milliseconds each in a
/// program of a hundred thousand functions. It remembers names by address, so it does not name what
/// was unloaded, and may confuse modules where it was asked before and after one took the place of
/// another. Links absl::symbolize: target alloctap::absl_symbolizer.
struct AbslSymbolizer {
  static constexpr std::string_view name = "absl";

  static void symbolize(std::span<const CodePlace> places, Symbols& symbols) noexcept {
    std::array<char, Symbols::kLongestText + 1> buffer;
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (places[i].module != nullptr && places[i].module->is_unloaded()) continue;
      const std::string_view function = name_of(places[i].address, buffer);
      if (!function.empty()) symbols.add(i, {.function = function});
    }
  }

  /// The name of the function that holds the instruction at `address`, written to `buffer`; empty
  /// where it is unknown.
  static std::string_view name_of(std::uintptr_t address, std::span<char> buffer) noexcept {
    // Abseil reads no more of a symbol. Its release of 2022 demangles no names of Rust's.
    std::array<char, 3072> symbol;
    const bool found = absl::Symbolize(reinterpret_cast<const void*>(address), symbol.data(),
                                       static_cast<int>(symbol.size()));
    if (!found) return {};
    const std::size_t length = std::string_view(symbol.data()).size();
    const std::string_view plain(symbol.data(), rewrite_legacy_rust({symbol.data(), length}));
    const std::string_view rust = demangle_rust(plain, buffer);
    if (!rust.empty()) return rust;
    BoundedText out(buffer);
    out.append(plain);
    return out.text();
  }
};

static_assert(Symbolizer<AbslSymbolizer>);

}  // namespace alloctap
