/// Definitions for symbol/system_symbolizer.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <string>

#include "alloctap/macros.hpp"
#include "alloctap/os/file.hpp"
#include "alloctap/symbol/demangled_names.hpp"
#include "alloctap/symbol/system_symbolizer.hpp"

namespace alloctap {

ALLOCTAP_INLINE void SystemSymbolizer::symbolize(std::span<const CodeAddress> places,
                                                 Symbols& symbols) noexcept {
  for (std::size_t i = 0; i < places.size();) {
    const Module* const module = places[i].module;
    std::size_t end = i + 1;
    while (end < places.size() && places[end].module == module) ++end;
    if (kExists && module != nullptr) {
      symbolize(*module, places.subspan(i, end - i), i, symbols);
    }
    i = end;
  }
}

ALLOCTAP_INLINE std::string_view SystemSymbolizer::note() noexcept {
  static constinit std::array<char, 200> text{};
  const int error = kExists ? os::load_symbol_library() : 0;
  if (error == 0) return {};
  std::size_t length = 0;
  for (const std::string_view part :
       {std::string_view("from symbol tables alone; "), name,
        std::string_view(" cannot be loaded: "), std::string_view(os::error_text(error))}) {
    length += part.copy(text.data() + length, text.size() - length);
  }
  return {text.data(), length};
}

ALLOCTAP_INLINE void SystemSymbolizer::symbolize(const Module& module,
                                                 std::span<const CodeAddress> places,
                                                 std::size_t first, Symbols& symbols) noexcept {
  const os::FileView file = os::FileView::open(std::string(module.path).c_str());
  if (!is_file_of(module, file.bytes())) return;
  const os::LibrarySymbols library(module.path, module.start, module.end - module.start);
  const pe::FunctionNames names(file.bytes());
  for (std::size_t i = 0; i < places.size(); ++i) {
    bool known = false;
    library.visit_frames(places[i].address, [&](const os::SymbolFrame& frame) {
      symbols.add(first + i, {frame.function, frame.file, frame.line});
      known = true;
    });
    if (!known) add_symbol(names, places[i].address - module.bias, first + i, symbols);
  }
}

ALLOCTAP_INLINE bool SystemSymbolizer::is_file_of(const Module& module,
                                                  std::span<const std::byte> file) noexcept {
  const auto image = native::read_mapped_image(file, module.start);
  return image && std::ranges::equal(std::span(image->build_id),
                                     std::span(module.build_id).first(module.build_id_bytes));
}

ALLOCTAP_INLINE void SystemSymbolizer::add_symbol(const pe::FunctionNames& names,
                                                  std::uintptr_t offset, std::size_t place,
                                                  Symbols& symbols) noexcept {
  const std::string symbol(names.find(static_cast<std::uint32_t>(offset)));
  if (symbol.empty()) return;
  symbols.add(place, {.function = DemangledNames().of(symbol.c_str())});
}

}  // namespace alloctap
