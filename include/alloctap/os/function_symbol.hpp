/// What a module's symbols say of a function.
#pragma once

#include <cstddef>

namespace alloctap::os {

/// `name` lives as long as the module.
struct FunctionSymbol {
  const char* name = nullptr;
  std::size_t bytes = 0;
};

/// The exported symbol that stands at exactly `address`; without a name where there is none. Asks
/// the loader: control plane.
FunctionSymbol find_function_symbol(const void* address) noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/function_symbol.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/function_symbol.hpp"
#else
#error "alloctap/os/function_symbol.hpp has no implementation for this system"
#endif
