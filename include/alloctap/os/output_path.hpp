/// Paths of report files: the file that a path names, and whether a new file may replace that file.
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
