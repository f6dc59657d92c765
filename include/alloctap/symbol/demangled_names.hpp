/// Demangles and caches C++ and Rust names.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

namespace alloctap {

/// A cache of demangled symbol names. Allocates from the host; not thread-safe.
class DemangledNames {
 public:
  /// Demangles `symbol` by the Itanium C++ ABI or Rust's manglings. Removes the symbol version from
  /// any other name. The cache compares addresses, so `symbol` must live as long as the cache.
  const std::string& of(const char* symbol) {
    const auto [entry, is_new] = names_.try_emplace(symbol);
    if (is_new) entry->second = demangle(symbol);
    return entry->second;
  }

 private:
  static std::string demangle(const char* symbol);

  /// Removes the symbol version from "function@VERSION". Some symbol tables contain such names.
  static std::string without_version(std::string_view symbol);

  std::unordered_map<const char*, std::string> names_;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/symbol/impl/demangled_names.hpp"
#endif
