/// Function names from the modules' symbol tables, by Abseil.
#pragma once

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

  static void symbolize(std::span<const CodeAddress> places, Symbols& symbols) noexcept;

  /// The name of the function that holds the instruction at `address`, written to `buffer`; empty
  /// where it is unknown.
  static std::string_view name_of(std::uintptr_t address, std::span<char> buffer) noexcept;
};

static_assert(Symbolizer<AbslSymbolizer>);

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/symbol/impl/absl_symbolizer.hpp"
#endif
