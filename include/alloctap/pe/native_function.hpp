/// Finds the bounds of the function at a code address, from the module's unwind tables (ELF or PE).
#pragma once

#include <cstdint>

namespace alloctap::native {

/// The address range `[begin, end)` of a function. Both members are 0 if the range is unknown.
struct FunctionExtent {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

/// Returns the bounds of the function at `address`, or of an outlined part of it. The range is
/// empty if the unwind tables do not cover `address`, as for leaf functions on Windows. Allocates
/// nothing and takes no lock.
[[nodiscard]] FunctionExtent find_function_extent(std::uintptr_t address) noexcept;

}  // namespace alloctap::native

#ifndef ALLOCTAP_COMPILED
#include "alloctap/pe/impl/native_function.hpp"
#endif
