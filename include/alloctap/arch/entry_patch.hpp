/// Inline hooks, which overwrite a function's entry with a jump, and the recognition of thunks.
///
/// `EntryPatch` has one interface for all architectures. The jump leads to an island: memory within
/// the jump's reach that contains a stub and a trampoline. The stub jumps to the replacement
/// through a pointer. The trampoline executes the displaced instructions and jumps back to the
/// instruction after them.
#pragma once

#include "alloctap/arch/patch_refusal.hpp"

#if defined(__x86_64__)
#include "alloctap/arch/x86_64/entry_patch.hpp"
namespace alloctap::arch {
using x86_64::EntryPatch;
using x86_64::is_binding_stub;
using x86_64::thunk_destination;
}  // namespace alloctap::arch
#elif defined(__aarch64__)
#include "alloctap/arch/aarch64/entry_patch.hpp"
namespace alloctap::arch {
using aarch64::EntryPatch;
using aarch64::is_binding_stub;
using aarch64::thunk_destination;
}  // namespace alloctap::arch
#else
#error "alloctap/arch/entry_patch.hpp does not know this architecture"
#endif
