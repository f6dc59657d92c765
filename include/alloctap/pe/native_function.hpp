/// Finds the bounds of the function at a code address, from the module's unwind tables (ELF or PE).
#pragma once

#include <cstdint>

namespace alloctap::native {

/// The range `[begin, end)`; both are 0 if unknown.
struct FunctionExtent {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

/// Returns the bounds of the function at `address`, or of an outlined part. Empty if the tables do
/// not cover it, as for leaf functions on Windows. Allocates nothing and takes no lock.
[[nodiscard]] FunctionExtent find_function_extent(std::uintptr_t address) noexcept;

}  // namespace alloctap::native

#ifndef ALLOCTAP_COMPILED
#include "alloctap/pe/impl/native_function.hpp"
#endif
