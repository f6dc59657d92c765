/// The bodies of stack/unwind_rules.hpp.
#pragma once

#include <cstdint>

#include "alloctap/elf/call_frame.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/errno_guard.hpp"
#include "alloctap/pe/native_row.hpp"
#include "alloctap/runtime/per_thread.hpp"
#include "alloctap/runtime/thread_state.hpp"
#include "alloctap/stack/unwind_rule.hpp"
#include "alloctap/stack/unwind_rules.hpp"

namespace alloctap {

/// An unwind table row, and scratch memory to search for it. Each thread has one object, because a
/// fiber's stack may be too small.
struct UnwindRowReader {
  elf::CallFrameRow row;
  native::RowSearch search;
};

ALLOCTAP_INLINE const elf::CallFrameRow* find_unwind_row(std::uintptr_t address) noexcept {
  ThreadState* const thread = ThreadStates::mine();
  auto* const reader = thread == nullptr ? nullptr : PerThread<UnwindRowReader>::of(*thread);
  if (reader == nullptr) return nullptr;
  const bool found = native::find_unwind_row(address, reader->row, reader->search);
  return found ? &reader->row : nullptr;
}

ALLOCTAP_NOINLINE ALLOCTAP_INLINE UnwindRule UnwindRules::read_from_table(std::uintptr_t address,
                                                                          Epoch epoch) noexcept {
  const os::ErrnoGuard preserve_error;
  const elf::CallFrameRow* const row = find_unwind_row(address);
  if (row == nullptr) return {};
  const UnwindRule rule = rule_of(*row);
  cache_.keep(address, rule, epoch);
  return rule;
}

}  // namespace alloctap
