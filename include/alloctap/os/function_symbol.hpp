/// Lookup of exported function symbols by address.
#pragma once

#include <cstddef>

namespace alloctap::os {

/// A function symbol. `name` is valid as long as the module is loaded.
struct FunctionSymbol {
  const char* name = nullptr;
  std::size_t bytes = 0;
};

/// Returns the exported symbol at exactly `address`; an empty one if no symbol begins there.
/// Control plane, because it calls the loader.
FunctionSymbol find_function_symbol(const void* address) noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/function_symbol.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/function_symbol.hpp"
#else
#error "alloctap/os/function_symbol.hpp has no implementation for this system"
#endif
