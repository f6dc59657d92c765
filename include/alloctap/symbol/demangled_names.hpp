/// Names of C++ and Rust functions as their authors wrote them.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

namespace alloctap {

/// Demangles each symbol once. Allocates from the host; not thread-safe.
class DemangledNames {
 public:
  /// Returns what `symbol` means by the Itanium C++ ABI or by Rust's manglings; itself, without its
  /// version, where it is no mangled name. `symbol` is known again by its address, and is as valid
  /// as the answer.
  const std::string& of(const char* symbol) {
    const auto [entry, is_new] = names_.try_emplace(symbol);
    if (is_new) entry->second = demangle(symbol);
    return entry->second;
  }

 private:
  static std::string demangle(const char* symbol);

  /// Some symbol tables have "function@VERSION".
  static std::string without_version(std::string_view symbol);

  std::unordered_map<const char*, std::string> names_;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/symbol/impl/demangled_names.hpp"
#endif
