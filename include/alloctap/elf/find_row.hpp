/// Finds the unwind table row at a code address.
#pragma once

#include <cstdint>
#include <optional>

#include "alloctap/elf/call_frame.hpp"
#include "alloctap/elf/call_frame_interpreter.hpp"
#include "alloctap/elf/eh_frame_header.hpp"

namespace alloctap::elf {

/// Scratch memory of `find_row`. It takes about 4 KB, as much as some fibers' stacks, so callers
/// inside malloc must not allocate it on the stack.
struct RowSearch {
  FoundDescription found;
  std::optional<CallFrameInterpreter> interpreter;
};

/// Writes the row at `pc` to `row`, which is meaningful only if the result is `kFound`. For a
/// return address outside signal frames, pass the address before it, because the call may be the
/// last instruction of its function. Runs inside malloc.
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
  // The rows of an FDE cover all its code, so no row is missing unless an error occurred.
  return interpreter.status();
}

}  // namespace alloctap::elf
