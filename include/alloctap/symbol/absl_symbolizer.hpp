/// A symbolizer over Abseil, which names functions from symbol tables.
#pragma once

#include "alloctap/symbol/module_table.hpp"
#include "alloctap/symbol/symbolizer.hpp"

namespace alloctap {

/// A symbolizer over `absl::Symbolize`, which reads .symtab or .dynsym. Yields demangled names
/// without template arguments, but no files or lines. Choose it for crash reports: it does not use
/// the host's allocator, whose locks may be held. Slow: it scans a symbol table for each address,
/// which takes milliseconds in a program of 100,000 functions. Abseil caches names by address. It
/// therefore cannot name functions of unloaded modules, and may confuse modules that were loaded at
/// one address in turn. The CMake target alloctap::absl_symbolizer links absl::symbolize.
struct AbslSymbolizer {
  static constexpr std::string_view name = "absl";

  static void symbolize(std::span<const CodeAddress> places, Symbols& symbols) noexcept;

  /// Writes the name of the function at `address` to `buffer`. Returns the name; empty if unknown.
  static std::string_view name_of(std::uintptr_t address, std::span<char> buffer) noexcept;
};

static_assert(Symbolizer<AbslSymbolizer>);

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/symbol/impl/absl_symbolizer.hpp"
#endif
