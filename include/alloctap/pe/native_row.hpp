/// From an address in code to what the unwind tables of its module say there, in the format that
/// modules of this system have.
#pragma once

#include <cstdint>

#include "alloctap/elf/call_frame.hpp"

#if defined(_WIN32)
#include "alloctap/pe/loaded_row.hpp"
#else
#include "alloctap/elf/loaded_row.hpp"
#include "alloctap/elf/module_code.hpp"
#endif

namespace alloctap::native {

/// The memory that `find_unwind_row` works in.
#if defined(_WIN32)
struct RowSearch {};
#else
using RowSearch = elf::RowSearch;
#endif

/// Writes the row that holds at `address` to `row`; false where there is none, or it cannot be
/// read. For a return address, ask for the address before it. Allocates nothing, takes no lock of
/// the loader's and runs inside malloc. The answer holds as long as the module stays loaded.
[[nodiscard]] inline bool find_unwind_row(std::uintptr_t address, elf::CallFrameRow& row,
                                          RowSearch& search) noexcept {
#if defined(_WIN32)
  static_cast<void>(search);
  return pe::find_loaded_row(address, row);
#else
  return elf::find_loaded_row(address, row, search);
#endif
}

/// Whether `address` lies in the code of a module; false where frame records lead to none. Runs
/// inside malloc. errno may change.
[[nodiscard]] inline bool is_module_code(std::uintptr_t address) noexcept {
#if defined(_WIN32)
  static_cast<void>(address);
  return false;
#else
  return elf::is_module_code(address);
#endif
}

}  // namespace alloctap::native
