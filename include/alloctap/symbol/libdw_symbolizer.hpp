/// A symbolizer over libdw: functions, files, lines and inlined functions.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "alloctap/symbol/symbolizer.hpp"

namespace alloctap {

/// A symbolizer over elfutils' libdw. Reads DWARF from the module's file or from a separate debug
/// file (by build-id below /usr/lib/debug, or by .gnu_debuglink). Without DWARF, reads the symbol
/// table. Reads each module once per report. Skips files whose build-id differs from the module's.
/// Reads deleted files through /proc (`libdw::process_directory`). Contacts no debuginfod server.
///
/// Allocates from the host, so it is unfit for crash reports. If the host is out of memory, libdw
/// (elfutils 0.188) may end the process or dereference a null pointer. The CMake target
/// alloctap::libdw_symbolizer links libdw.
struct LibdwSymbolizer {
  static constexpr SymbolizerFeatures features{.note = true};
  static constexpr std::string_view name = "libdw";

  /// Returns a hint about debug information that could not be read, or an empty string.
  static std::string_view note() noexcept;

  static void symbolize(std::span<const CodeAddress> places, Symbols& symbols) noexcept;

 private:
  /// Symbolizes the places in one module. If the host runs out of memory, leaves the remaining
  /// places unnamed.
  static void symbolize_module(const Module& module, std::span<const CodeAddress> places,
                               std::size_t first, Symbols& symbols) noexcept;
};

static_assert(Symbolizer<LibdwSymbolizer>);

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/symbol/impl/libdw_symbolizer.hpp"
#endif
