// Three sources. The loader's own table (glibc 2.35 and newer) is read without a lock and takes
// some 20 ns. It does not know the vdso, which the kernel maps. Where the loader has no such table,
// the kernel's list of mappings has it all, for some 50 us: callers keep what they find.
#pragma once

#include "alloctap/os/find_module.hpp"

#ifndef ALLOCTAP_COMPILED
#include "alloctap/os/linux/impl/find_module.hpp"
#endif
