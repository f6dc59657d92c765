/// Finds the unwind table row at a code address, in the system's format (ELF or PE).
#pragma once

#include <cstdint>

#include "alloctap/elf/call_frame.hpp"

#if defined(_WIN32)
#include "alloctap/pe/unwind_info.hpp"
#else
#include "alloctap/elf/find_row.hpp"
#include "alloctap/elf/module_code.hpp"
#endif

namespace alloctap::native {

/// Scratch memory of `find_unwind_row`.
#if defined(_WIN32)
struct RowSearch {};
#else
using RowSearch = elf::RowSearch;
#endif

/// Writes the row at `address` to `row`. Returns false if the row is not found or not readable. For
/// a return address, pass the address before it. Allocates nothing and takes no loader lock. Runs
/// inside malloc. The result is valid while the module stays loaded.
[[nodiscard]] inline bool find_unwind_row(std::uintptr_t address, elf::CallFrameRow& row,
                                          RowSearch& search) noexcept {
#if defined(_WIN32)
  static_cast<void>(search);
  return pe::find_loaded_row(address, row);
#else
  return elf::find_loaded_row(address, row, search);
#endif
}

/// Returns whether `address` is in a module's code. Always returns false on Windows, where the
/// result is not needed because code has no frame records. Runs inside malloc. May change errno.
[[nodiscard]] inline bool is_module_code(std::uintptr_t address) noexcept {
#if defined(_WIN32)
  static_cast<void>(address);
  return false;
#else
  return elf::is_module_code(address);
#endif
}

}  // namespace alloctap::native
