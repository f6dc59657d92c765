/// From an address in code to the row that holds there.
#pragma once

#include <cstdint>
#include <optional>

#include "alloctap/elf/call_frame.hpp"
#include "alloctap/elf/call_frame_interpreter.hpp"
#include "alloctap/elf/eh_frame_header.hpp"

namespace alloctap::elf {

/// The memory that `find_row` works in: about 4 KB, which is as much as some fibers' stacks. So
/// callers inside malloc keep it elsewhere.
struct RowSearch {
  FoundDescription found;
  std::optional<CallFrameInterpreter> interpreter;
};

/// Writes the row that holds at `pc` to `row`, whose content is only of value with kFound. For a
/// return address, ask for the address before it, unless a signal frame led there: the call may be
/// its function's last instruction. Runs anywhere.
inline UnwindStatus find_row(const UnwindTables& tables, std::uintptr_t pc, CallFrameRow& row,
                             RowSearch& search) noexcept {
  search.found = find_frame_description(tables, pc);
  if (search.found.status != UnwindStatus::kFound) return search.found.status;
  CallFrameInterpreter& interpreter = search.interpreter.emplace(search.found.description);
  interpreter.skip_rows_before(pc);
  while (interpreter.next()) {
    if (pc >= interpreter.row().end) continue;
    row = interpreter.row();
    return UnwindStatus::kFound;
  }
  // The rows of a description without an error cover it.
  return interpreter.status();
}

}  // namespace alloctap::elf
