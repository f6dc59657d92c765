/// Where a function that only jumps to another one leads.
#pragma once

#include <cstdint>

namespace alloctap::arch {

/// Directly, or through the word at `pointer`.
struct ThunkDestination {
  std::uintptr_t address = 0;
  std::uintptr_t pointer = 0;
};

}  // namespace alloctap::arch
