/// Finds the unwind table row at a code address.
#pragma once

#include <cstdint>
#include <optional>

#include "alloctap/elf/call_frame.hpp"
#include "alloctap/elf/call_frame_interpreter.hpp"
#include "alloctap/elf/eh_frame_header.hpp"

namespace alloctap::elf {

/// Scratch memory of `find_row`. About 4 KB, the size of some fibers' stacks, so callers inside
/// malloc keep it elsewhere.
struct RowSearch {
  FoundDescription found;
  std::optional<CallFrameInterpreter> interpreter;
};

/// Writes the row at `pc` to `row`, which is meaningful only on `kFound`. For a return address not
/// of a signal frame, pass the address before it: the call may be its function's last instruction.
/// Runs inside malloc.
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
  // Without an error, the rows of an FDE cover all its code.
  return interpreter.status();
}

}  // namespace alloctap::elf
