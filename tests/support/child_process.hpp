/// Runs a part of a test where it cannot harm the others: `holds_in_child(body)`.
#pragma once

#if defined(_WIN32)
#include "tests/support/windows/child_process.hpp"
#else
#include "tests/support/linux/child_process.hpp"
#endif
