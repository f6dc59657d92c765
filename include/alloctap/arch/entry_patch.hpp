/// Replacing the entry of a function by a jump, as far as it depends on the processor.
///
/// `EntryPatch` of each architecture has the same members. A jump in the function leads to its
/// island, memory of its own within the jump's reach. There lie the stub, which jumps on through a
/// word (where the replacement stands), and the trampoline: the displaced instructions, then a jump
/// behind them.
#pragma once

#include "alloctap/arch/function_code.hpp"
#include "alloctap/arch/patch_refusal.hpp"

#if defined(__x86_64__)
#include "alloctap/arch/x86_64/entry_patch.hpp"
#include "alloctap/arch/x86_64/thunk.hpp"
namespace alloctap::arch {
using x86_64::EntryPatch;
using x86_64::is_binding_stub;
using x86_64::thunk_destination;
}  // namespace alloctap::arch
#elif defined(__aarch64__)
#include "alloctap/arch/aarch64/entry_patch.hpp"
#include "alloctap/arch/aarch64/thunk.hpp"
namespace alloctap::arch {
using aarch64::EntryPatch;
using aarch64::is_binding_stub;
using aarch64::thunk_destination;
}  // namespace alloctap::arch
#else
#error "alloctap/arch/entry_patch.hpp does not know this architecture"
#endif
