/// Functions, files and lines by what the system brings along for it: on Windows, DbgHelp.
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
#include "alloctap/symbol/no_symbolizer.hpp"
#include "alloctap/symbol/symbolizer.hpp"

namespace alloctap {

/// The frames of each place, with those of inlined functions, where the module has debug
/// information that the system's library reads: a PDB file beside it or where its linker left it
/// (Wine: DWARF up to version 4, too). Else, and without the library, the function's name by the
/// file's own symbols and exports. A file that is not the one that ran is not asked. Allocates from
/// the host. The library takes one thread at a time: a program that asks it for itself does so
/// while no report is written.
struct SystemSymbolizer {
  static constexpr bool kExists = !os::kSymbolLibrary.empty();
  static constexpr std::string_view name = kExists ? os::kSymbolLibrary : "none";

  static void symbolize(std::span<const CodeAddress> places, Symbols& symbols) noexcept;

  /// What is wrong with it, for reports; empty if nothing is. Loads the library.
  static std::string_view note() noexcept;

 private:
  /// `places` are of `module`; the first has the number `first` in `symbols`.
  static void symbolize(const Module& module, std::span<const CodeAddress> places,
                        std::size_t first, Symbols& symbols) noexcept;

  static bool is_file_of(const Module& module, std::span<const std::byte> file) noexcept;

  static void add_symbol(const pe::FunctionNames& names, std::uintptr_t offset, std::size_t place,
                         Symbols& symbols) noexcept;
};

static_assert(Symbolizer<SystemSymbolizer>);

/// What the system is good for, for programs that run on several. No config has it unless told to:
/// Wine 8's DbgHelp ends the process where a function in DWARF has no name, as large programs have.
using DefaultSymbolizer =
    std::conditional_t<SystemSymbolizer::kExists, SystemSymbolizer, NoSymbolizer>;

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/symbol/impl/system_symbolizer.hpp"
#endif
