/// The row of a module's .eh_frame that holds at an address.
#pragma once

#include <cstdint>
#include <optional>

#include "alloctap/elf/call_frame.hpp"
#include "alloctap/elf/find_row.hpp"
#include "alloctap/elf/find_unwind_tables.hpp"

namespace alloctap::elf {

/// Interprets the table anew each time; what it needs and promises is what `find_unwind_tables` and
/// `find_row` do.
[[nodiscard]] inline bool find_loaded_row(std::uintptr_t address, CallFrameRow& row) noexcept {
  const std::optional<UnwindTables> tables = find_unwind_tables(address);
  return tables && find_row(*tables, address, row) == UnwindStatus::kFound;
}

}  // namespace alloctap::elf
