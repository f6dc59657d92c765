/// Function names from the modules' symbol tables, by Abseil.
#pragma once

#include <absl/debugging/symbolize.h>

#include "alloctap/symbol/symbolizer.hpp"

namespace alloctap {

/// `absl::Symbolize`: demangled names, template arguments left out, from .symtab or .dynsym. It has
/// memory of its own and reads files, so it works while the host's allocator is locked. Links
/// absl::symbolize: target alloctap::absl_symbolizer.
struct AbslSymbolizer {
  static constexpr std::string_view name = "absl";

  static std::string_view name_of(std::uintptr_t address, std::span<char> buffer) noexcept {
    const bool found = absl::Symbolize(reinterpret_cast<const void*>(address), buffer.data(),
                                       static_cast<int>(buffer.size()));
    return found ? std::string_view(buffer.data()) : std::string_view();
  }
};

static_assert(Symbolizer<AbslSymbolizer>);

}  // namespace alloctap
