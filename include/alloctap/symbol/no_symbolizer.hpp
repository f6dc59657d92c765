/// A symbolizer without names: reports show module, offset and build-id for later symbolization.
#pragma once

#include "alloctap/symbol/symbolizer.hpp"

namespace alloctap {

/// Names no function. Needs no library.
struct NoSymbolizer {
  static constexpr std::string_view name = "none";
  static void symbolize(std::span<const CodeAddress>, Symbols&) noexcept {}
};

static_assert(Symbolizer<NoSymbolizer>);

}  // namespace alloctap
