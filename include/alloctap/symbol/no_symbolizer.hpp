/// No names: reports show module, offset and build-id, to be looked up later.
#pragma once

#include "alloctap/symbol/symbolizer.hpp"

namespace alloctap {

/// Knows no name. Needs no library.
struct NoSymbolizer {
  static constexpr std::string_view name = "none";
  static void symbolize(std::span<const CodeAddress>, Symbols&) noexcept {}
};

static_assert(Symbolizer<NoSymbolizer>);

}  // namespace alloctap
