/// A function that the system's symbolizers name, and these: `KnownFunction`,
/// `ALLOCTAP_TEST_NAMING_SYMBOLIZERS`.
#pragma once

#if defined(_WIN32)
#include "tests/support/windows/known_function.hpp"
#else
#include "tests/support/linux/known_function.hpp"
#endif
