/// How long a function is that no table tells the length of, as far as its code shows.
#pragma once

#if defined(__x86_64__)
#include "alloctap/arch/x86_64/leaf_function.hpp"
namespace alloctap::arch {
using x86_64::leaf_function_bytes;
}
#else
#error "alloctap/arch/leaf_function.hpp does not know this architecture"
#endif
