/// A symbolizer over Abseil, which names functions from symbol tables.
#pragma once

#include "alloctap/symbol/module_table.hpp"
#include "alloctap/symbol/symbolizer.hpp"

namespace alloctap {

/// A symbolizer over `absl::Symbolize`: demangled names without template arguments, from .symtab or
/// .dynsym; no files or lines. Choose it for crash reports: it does not use the host's allocator,
/// which may be locked. Slow: it scans a symbol table for each address, some milliseconds in a
/// program of 100,000 functions. Abseil caches names by address, so it cannot name unloaded
/// modules, and may mix up modules that were loaded at one address in turn. Links absl::symbolize:
/// target alloctap::absl_symbolizer.
struct AbslSymbolizer {
  static constexpr std::string_view name = "absl";

  static void symbolize(std::span<const CodeAddress> places, Symbols& symbols) noexcept;

  /// Writes the name of the function at `address` to `buffer` and returns it, or an empty string.
  static std::string_view name_of(std::uintptr_t address, std::span<char> buffer) noexcept;
};

static_assert(Symbolizer<AbslSymbolizer>);

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/symbol/impl/absl_symbolizer.hpp"
#endif
