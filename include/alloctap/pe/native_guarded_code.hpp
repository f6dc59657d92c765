/// Detects modules with checked indirect branches (AArch64 BTI, Control Flow Guard), for ELF or PE.
///
/// `native::has_guarded_code(address)` returns whether the module that contains `address` has
/// checked branches. If the result is true, the module's pages must stay `guarded`
/// (os/memory_protection.hpp). Takes no lock, allocates nothing.
#pragma once

#if defined(_WIN32)
#include "alloctap/pe/guarded_code.hpp"
namespace alloctap::native {
using pe::has_guarded_code;
}
#else
#include "alloctap/elf/guarded_code.hpp"
namespace alloctap::native {
using elf::has_guarded_code;
}
#endif
