/// Finds the unwind table row at a code address, from .eh_frame or a signal trampoline.
#pragma once

#include <cstdint>
#include <optional>

#include "alloctap/elf/call_frame.hpp"
#include "alloctap/elf/find_row.hpp"
#include "alloctap/elf/find_signal_row.hpp"
#include "alloctap/elf/find_unwind_tables.hpp"

namespace alloctap::elf {

/// Writes the row at `address` to `row`; returns false if not found. Interprets the table on each
/// call. See `find_unwind_tables`, `find_row` and `find_signal_row` for preconditions and
/// guarantees.
[[nodiscard]] inline bool find_loaded_row(std::uintptr_t address, CallFrameRow& row,
                                          RowSearch& search) noexcept {
  const std::optional<UnwindTables> tables = find_unwind_tables(address);
  if (tables && find_row(*tables, address, row, search) == UnwindStatus::kFound) return true;
  return find_signal_row(address, row);
}

}  // namespace alloctap::elf
