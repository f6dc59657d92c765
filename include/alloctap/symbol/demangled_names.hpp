/// Demangles and caches C++ and Rust names.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

namespace alloctap {

/// A cache of demangled symbols. Allocates from the host; not thread-safe.
class DemangledNames {
 public:
  /// Demangles `symbol` by the Itanium C++ ABI or Rust's manglings. Returns other names unchanged,
  /// but without a symbol version. The cache compares addresses, so `symbol` must live as long as
  /// the cache.
  const std::string& of(const char* symbol) {
    const auto [entry, is_new] = names_.try_emplace(symbol);
    if (is_new) entry->second = demangle(symbol);
    return entry->second;
  }

 private:
  static std::string demangle(const char* symbol);

  /// Removes the suffix of "function@VERSION", as some symbol tables have it.
  static std::string without_version(std::string_view symbol);

  std::unordered_map<const char*, std::string> names_;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/symbol/impl/demangled_names.hpp"
#endif
