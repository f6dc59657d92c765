/// Names by a helper process that has libdw, else by Abseil.
#pragma once

#include <alloctap/symbol/symbolizer.hpp>

namespace alloctap::run {

/// Functions, files, lines and inlined functions, found by `alloctap-symbolize`, which stands
/// beside this object. Where it cannot be started or does not answer all (the program is confined,
/// has changed its root, has no process left), names come from Abseil's symbolizer, without files
/// and lines. Allocates nothing from the host and may run in a program that has crashed.
struct HelperSymbolizer {
  static constexpr std::string_view name = "libdw";
  static void symbolize(std::span<const CodeAddress> places, Symbols& symbols) noexcept;
};

static_assert(Symbolizer<HelperSymbolizer>);

}  // namespace alloctap::run
