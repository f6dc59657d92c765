/// A symbolizer without names. Reports show module, offset and build-id for later symbolization.
#pragma once

#include "alloctap/symbol/symbolizer.hpp"

namespace alloctap {

/// A symbolizer that names no function and needs no library.
struct NoSymbolizer {
  static constexpr std::string_view name = "none";
  static void symbolize(std::span<const CodeAddress>, Symbols&) noexcept {}
};

static_assert(Symbolizer<NoSymbolizer>);

}  // namespace alloctap
