/// Paths of report files: which file a path means, and whether that file may be replaced.
///
/// Control plane. Allocates nothing.
#pragma once

#include "alloctap/os/file.hpp"

#if defined(__linux__)
#include "alloctap/os/linux/output_path.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/output_path.hpp"
#else
#error "alloctap/os/output_path.hpp has no implementation for this system"
#endif
