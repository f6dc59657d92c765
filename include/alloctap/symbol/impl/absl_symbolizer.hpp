/// Definitions for symbol/absl_symbolizer.hpp.
#pragma once

#include <absl/debugging/symbolize.h>

#include <array>
#include <cstddef>

#include "alloctap/macros.hpp"
#include "alloctap/symbol/absl_symbolizer.hpp"
#include "alloctap/symbol/bounded_text.hpp"
#include "alloctap/symbol/rust_demangler.hpp"

namespace alloctap {

ALLOCTAP_INLINE void AbslSymbolizer::symbolize(std::span<const CodeAddress> places,
                                               Symbols& symbols) noexcept {
  std::array<char, Symbols::kLongestText + 1> buffer;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i].module != nullptr && places[i].module->is_unloaded()) continue;
    const std::string_view function = name_of(places[i].address, buffer);
    if (!function.empty()) symbols.add(i, {.function = function});
  }
}

ALLOCTAP_INLINE std::string_view AbslSymbolizer::name_of(std::uintptr_t address,
                                                         std::span<char> buffer) noexcept {
  // Abseil reads at most this many bytes of a symbol. Its 2022 releases do not demangle Rust.
  std::array<char, 3072> symbol;
  const bool found = absl::Symbolize(reinterpret_cast<const void*>(address), symbol.data(),
                                     static_cast<int>(symbol.size()));
  if (!found) return {};
  const std::size_t length = std::string_view(symbol.data()).size();
  const std::string_view plain(symbol.data(), rewrite_legacy_rust({symbol.data(), length}));
  const std::string_view rust = demangle_rust(plain, buffer);
  if (!rust.empty()) return rust;
  BoundedText out(buffer);
  out.append(plain);
  return out.text();
}

}  // namespace alloctap
