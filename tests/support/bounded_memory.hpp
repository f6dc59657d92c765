/// Keeps the system from mapping more than a little: `BoundedMemory(slack)`.
#pragma once

#if defined(_WIN32)
#include "tests/support/windows/bounded_memory.hpp"
#else
#include "tests/support/linux/bounded_memory.hpp"
#endif
