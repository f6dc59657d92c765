/// From an address in code to the function that holds it, as the unwind tables of its module tell,
/// in the format that modules of this system have.
#pragma once

#include <cstdint>

namespace alloctap::native {

/// `[begin, end)`; both 0 for none.
struct FunctionExtent {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

/// The function, or the part of one that a compiler put elsewhere, at `address`. None where the
/// tables do not tell: on Windows, of a function that calls nobody. Allocates nothing and takes no
/// lock.
[[nodiscard]] FunctionExtent find_function_extent(std::uintptr_t address) noexcept;

}  // namespace alloctap::native

#ifndef ALLOCTAP_COMPILED
#include "alloctap/pe/impl/native_function.hpp"
#endif
