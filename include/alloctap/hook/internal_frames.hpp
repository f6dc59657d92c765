/// Excludes hook functions that call program code from captured stacks.
#pragma once

#include <cstdint>

#include "alloctap/arch/dwarf_registers.hpp"
#include "alloctap/event/internal_code.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/pe/native_function.hpp"

namespace alloctap {

/// Adds the address range of the calling function to `internal_code`. Finds the range in unwind
/// tables. Lock-free; must not be called inside malloc.
ALLOCTAP_NOINLINE inline void leave_out_caller() noexcept {
  const auto address = arch::DwarfRegisters::strip_signature(
      reinterpret_cast<std::uintptr_t>(ALLOCTAP_RETURN_ADDRESS()));
  if (internal_code.contains(address - 1)) return;
  const native::FunctionExtent extent = native::find_function_extent(address - 1);
  internal_code.add({extent.begin, extent.end});
}

}  // namespace alloctap
