/// Code whose callers through pointers are checked, in the format that modules of this system have.
///
/// `native::has_guarded_code(address)`: whether the module that holds `address` has such code, so
/// that its pages are to stay `guarded` (os/memory_protection.hpp). Takes no lock, allocates
/// nothing.
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
