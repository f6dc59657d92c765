/// Keeps functions of hooks that code of the program runs inside of out of stacks.
#pragma once

#include <cstdint>

#include "alloctap/arch/dwarf_registers.hpp"
#include "alloctap/event/internal_code.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/pe/native_function.hpp"

namespace alloctap {

/// Adds the function that calls this one, as far as unwind tables tell its extent. Takes no lock;
/// outside of malloc.
ALLOCTAP_NOINLINE inline void leave_out_caller() noexcept {
  const auto address = arch::DwarfRegisters::strip_signature(
      reinterpret_cast<std::uintptr_t>(ALLOCTAP_RETURN_ADDRESS()));
  if (internal_code.contains(address - 1)) return;
  const native::FunctionExtent extent = native::find_function_extent(address - 1);
  internal_code.add({extent.begin, extent.end});
}

}  // namespace alloctap
