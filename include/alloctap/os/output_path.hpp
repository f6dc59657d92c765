/// Paths that reports are written to: which file they name, and whether it may be replaced.
///
/// Control plane. Nothing here allocates.
#pragma once

#include "alloctap/os/file.hpp"

#if defined(__linux__)
#include "alloctap/os/linux/output_path.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/output_path.hpp"
#else
#error "alloctap/os/output_path.hpp has no implementation for this system"
#endif
