/// Function names from the modules' symbol tables, by Abseil.
#pragma once

#include <absl/debugging/symbolize.h>

#include <array>
#include <cstddef>

#include "alloctap/symbol/module_table.hpp"
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
    std::array<char, Symbols::kLongestText> buffer;
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (places[i].module != nullptr && places[i].module->is_unloaded()) continue;
      const std::string_view function = name_of(places[i].address, buffer);
      if (!function.empty()) symbols.add(i, {.function = function});
    }
  }

  /// The name of the function that holds the instruction at `address`, written to `buffer`; empty
  /// where it is unknown.
  static std::string_view name_of(std::uintptr_t address, std::span<char> buffer) noexcept {
    const bool found = absl::Symbolize(reinterpret_cast<const void*>(address), buffer.data(),
                                       static_cast<int>(buffer.size()));
    return found ? std::string_view(buffer.data()) : std::string_view();
  }
};

static_assert(Symbolizer<AbslSymbolizer>);

}  // namespace alloctap
