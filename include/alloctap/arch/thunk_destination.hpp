/// The destination of a thunk, a function that only jumps to another one.
#pragma once

#include <cstdint>

namespace alloctap::arch {

/// The destination of a thunk: `address`, or the value of the word at `pointer`.
struct ThunkDestination {
  std::uintptr_t address = 0;
  std::uintptr_t pointer = 0;
};

}  // namespace alloctap::arch
