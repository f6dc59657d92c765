/// Functions, files, lines and inlined functions, by elfutils' libdw.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "alloctap/symbol/symbolizer.hpp"

namespace alloctap {

/// Reads each module once for all places in it. DWARF where there is any, in the module's file or
/// in a separate one (by build-id below /usr/lib/debug, or by .gnu_debuglink), else the symbol
/// table. A file whose build-id is not that of the module is left alone; one that is gone is read
/// where it is mapped (`libdw::process_directory`). No network is asked.
///
/// Allocates from the host, as libdw does: not for reports of a program that has crashed. Where the
/// host has no memory, libdw ends the process or reads what it did not get (elfutils 0.188), and
/// nothing here can help it. Links libdw: target alloctap::libdw_symbolizer.
struct LibdwSymbolizer {
  static constexpr std::string_view name = "libdw";

  /// Returns a hint at debug information that could not be read, for reports; empty if there is
  /// none so far.
  static std::string_view note() noexcept;

  static void symbolize(std::span<const CodeAddress> places, Symbols& symbols) noexcept;

 private:
  /// Where the host has no memory, the rest of the module has no names.
  static void symbolize_module(const Module& module, std::span<const CodeAddress> places,
                               std::size_t first, Symbols& symbols) noexcept;
};

static_assert(Symbolizer<LibdwSymbolizer>);

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/symbol/impl/libdw_symbolizer.hpp"
#endif
