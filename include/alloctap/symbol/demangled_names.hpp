/// Names of C++ and Rust functions as their authors wrote them.
#pragma once

#include <cxxabi.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "alloctap/symbol/rust_names.hpp"

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
  static std::string demangle(const char* symbol) {
    // Reports cut names sooner.
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

  /// Some symbol tables have "function@VERSION".
  static std::string without_version(std::string_view symbol) {
    return std::string(symbol.substr(0, symbol.find('@', 1)));
  }

  std::unordered_map<const char*, std::string> names_;
};

}  // namespace alloctap
