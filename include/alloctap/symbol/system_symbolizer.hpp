/// A symbolizer over the system's own library: DbgHelp on Windows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include "alloctap/os/symbol_library.hpp"
#include "alloctap/pe/function_names.hpp"
#include "alloctap/pe/native_image.hpp"
#include "alloctap/symbol/module_table.hpp"
#include "alloctap/symbol/symbolizer.hpp"

namespace alloctap {

/// Finds functions, files, lines and inlined functions with DbgHelp. DbgHelp reads a PDB next to
/// the module or at the path that the linker recorded. Wine's DbgHelp also reads DWARF up to
/// version 4. Without debug information, uses the symbols and exports of the file. Skips files that
/// differ from those that were loaded. Allocates from the host. DbgHelp is single-threaded: the
/// program must not call DbgHelp during a report.
struct SystemSymbolizer {
  static constexpr bool kExists = !os::kSymbolLibrary.empty();
  static constexpr SymbolizerFeatures features{.note = true};
  static constexpr std::string_view name = kExists ? os::kSymbolLibrary : "none";

  static void symbolize(std::span<const CodeAddress> places, Symbols& symbols) noexcept;

  /// Loads DbgHelp. Returns a warning for reports if symbolization is impaired; otherwise empty.
  static std::string_view note() noexcept;

 private:
  /// Symbolizes `places`, all in `module`. `first` is the index of the first place in `symbols`.
  static void symbolize(const Module& module, std::span<const CodeAddress> places,
                        std::size_t first, Symbols& symbols) noexcept;

  static bool is_file_of(const Module& module, std::span<const std::byte> file) noexcept;

  static void add_symbol(const pe::FunctionNames& names, std::uintptr_t offset, std::size_t place,
                         Symbols& symbols) noexcept;
};

static_assert(Symbolizer<SystemSymbolizer>);

/// The best symbolizer of the system, for portable programs. No config uses it by default, because
/// DbgHelp of Wine 8 ends the process on unnamed DWARF functions. Large programs have such
/// functions.
using DefaultSymbolizer =
    std::conditional_t<SystemSymbolizer::kExists, SystemSymbolizer, NoSymbolizer>;

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/symbol/impl/system_symbolizer.hpp"
#endif
