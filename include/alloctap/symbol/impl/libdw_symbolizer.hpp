/// Definitions for symbol/libdw_symbolizer.hpp.
#pragma once

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include <cstdint>
#include <vector>

#include "alloctap/macros.hpp"
#include "alloctap/symbol/libdw_files.hpp"
#include "alloctap/symbol/libdw_functions.hpp"
#include "alloctap/symbol/libdw_symbolizer.hpp"

namespace alloctap::libdw {

/// Symbolizes the places in one module. Allocates from the host.
class ModuleSymbolizer {
 public:
  /// `places` are ascending and in `module`. The first place has index `first` in `symbols`.
  ModuleSymbolizer(const Module& module, std::span<const CodeAddress> places, std::size_t first,
                   Symbols& symbols)
      : debug_(module), path_(module.path), first_(first), symbols_(symbols) {
    for (const CodeAddress& place : places) addresses_.push_back(place.address - module.bias);
  }

  void symbolize() {
    if (debug_.get() == nullptr) return;
    UnreadableDebugInformation::look_for(debug_.get(), path_);
    const FunctionSymbols functions(debug_.get());
    std::vector<bool> answered(addresses_.size());
    for (UnitWithAddresses& unit : units_of(debug_.get(), addresses_)) {
      Scopes scopes(unit, addresses_);
      for (const std::size_t index : unit.indices) {
        answered[index] = add_frames(unit, scopes.of(index), index, functions);
      }
    }
    for (std::size_t i = 0; i < addresses_.size(); ++i) {
      const char* symbol = answered[i] ? nullptr : functions.find(addresses_[i]);
      if (symbol != nullptr) symbols_.add(first_ + i, {.function = names_.of_symbol(symbol)});
    }
  }

 private:
  struct SourcePlace {
    const char* file = nullptr;
    int line = 0;
  };

  /// Adds the frames of one address. Returns false if the unit has neither function nor line for
  /// the address.
  bool add_frames(UnitWithAddresses& unit, std::vector<Dwarf_Die>& scopes, std::size_t index,
                  const FunctionSymbols& functions) {
    SourcePlace place = line_of(unit, addresses_[index]);
    for (std::size_t i = scopes.size(); i > 0; --i) {
      Dwarf_Die& scope = scopes[i - 1];
      const bool has_code = i == 1;
      add(index, has_code ? name_of_code(scope, index, functions) : name_of_inlined(scope), place);
      if (!has_code) place = call_of(unit, scope);
    }
    if (!scopes.empty()) return true;
    const char* symbol = functions.find(addresses_[index]);
    if (symbol == nullptr && place.file == nullptr) return false;
    add(index, symbol == nullptr ? std::string_view() : names_.of_symbol(symbol), place);
    return true;
  }

  void add(std::size_t index, std::string_view function, const SourcePlace& place) {
    const bool known = place.file != nullptr;
    symbols_.add(first_ + index,
                 {.function = function,
                  .file = known ? std::string_view(place.file) : std::string_view(),
                  .line = known && place.line > 0 ? static_cast<std::uint32_t>(place.line) : 0});
  }

  static SourcePlace line_of(UnitWithAddresses& unit, std::uint64_t address) {
    SourcePlace place;
    Dwarf_Line* line = ::dwarf_getsrc_die(&unit.lines, address);
    if (line == nullptr || ::dwarf_lineno(line, &place.line) != 0) return {};
    place.file = ::dwarf_linesrc(line, nullptr, nullptr);
    return place;
  }

  /// Returns the call site of the inlined function `scope`.
  static SourcePlace call_of(UnitWithAddresses& unit, Dwarf_Die& scope) {
    Dwarf_Files* files = nullptr;
    std::size_t count = 0;
    const Dwarf_Word file = number_of(scope, DW_AT_call_file);
    const Dwarf_Word line = number_of(scope, DW_AT_call_line);
    if (::dwarf_getsrcfiles(&unit.functions, &files, &count) != 0 || file >= count) return {};
    return {.file = ::dwarf_filesrc(files, file, nullptr, nullptr), .line = static_cast<int>(line)};
  }

  static Dwarf_Word number_of(Dwarf_Die& die, unsigned attribute) {
    Dwarf_Attribute found;
    Dwarf_Word number = 0;
    if (::dwarf_attr(&die, attribute, &found) != nullptr) ::dwarf_formudata(&found, &number);
    return number;
  }

  /// Returns the name of a function that has code. Prefers the symbol table for static functions,
  /// because only the symbol table has complete names.
  std::string_view name_of_code(Dwarf_Die& function, std::size_t index,
                                const FunctionSymbols& functions) {
    const std::string_view name = names_.linkage_name(function);
    if (!name.empty()) return name;
    const char* symbol = functions.find(addresses_[index]);
    return symbol == nullptr ? names_.source_name(function) : names_.of_symbol(symbol);
  }

  std::string_view name_of_inlined(Dwarf_Die& function) {
    const std::string_view name = names_.linkage_name(function);
    return name.empty() ? names_.source_name(function) : name;
  }

  const DebugModule debug_;
  std::string_view path_;
  std::size_t first_;
  Symbols& symbols_;
  /// Addresses of the places in the module's file, ascending.
  std::vector<std::uint64_t> addresses_;
  FunctionNames names_;
};

}  // namespace alloctap::libdw

namespace alloctap {

ALLOCTAP_INLINE std::string_view LibdwSymbolizer::note() noexcept {
  return libdw::UnreadableDebugInformation::text();
}

ALLOCTAP_INLINE void LibdwSymbolizer::symbolize_module(const Module& module,
                                                       std::span<const CodeAddress> places,
                                                       std::size_t first, Symbols& symbols) noexcept
    try {
  libdw::ModuleSymbolizer(module, places, first, symbols).symbolize();
} catch (...) {
}

ALLOCTAP_INLINE void LibdwSymbolizer::symbolize(std::span<const CodeAddress> places,
                                                Symbols& symbols) noexcept {
  for (std::size_t first = 0, end = 0; first < places.size(); first = end) {
    const Module* module = places[first].module;
    while (end < places.size() && places[end].module == module) ++end;
    if (module != nullptr) {
      symbolize_module(*module, places.subspan(first, end - first), first, symbols);
    }
  }
}

}  // namespace alloctap
