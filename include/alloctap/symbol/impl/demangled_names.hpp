/// Definitions for symbol/demangled_names.hpp.
#pragma once

#include <cxxabi.h>

#include <array>
#include <cstdlib>
#include <memory>

#include "alloctap/macros.hpp"
#include "alloctap/symbol/demangled_names.hpp"
#include "alloctap/symbol/rust_demangler.hpp"

namespace alloctap {

ALLOCTAP_INLINE std::string DemangledNames::demangle(const char* symbol) {
  // Large enough for all names, because reports truncate names to fewer bytes.
  std::array<char, 4096> buffer;
  const std::string_view rust = demangle_rust(symbol, buffer);
  if (!rust.empty()) return std::string(rust);
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(symbol, nullptr, nullptr, &status), &std::free);
  const bool is_mangled = symbol[0] == '_' && symbol[1] == 'Z';
  if (status != 0 || name == nullptr || !is_mangled) return without_version(symbol);
  std::string demangled = name.get();
  demangled.resize(rewrite_legacy_rust(demangled));
  return demangled;
}

ALLOCTAP_INLINE std::string DemangledNames::without_version(std::string_view symbol) {
  return std::string(symbol.substr(0, symbol.find('@', 1)));
}

}  // namespace alloctap
