/// Reading of symbolic links and directories.
#pragma once

#include <span>
#include <string_view>

namespace alloctap::os {

/// Stores the target of the symbolic link `path` in `buffer` and returns the target. Returns "" if
/// `path` is no link or the target does not fit. May run inside malloc and inside a signal handler.
[[nodiscard]] std::string_view read_link(const char* path, std::span<char> buffer) noexcept;

/// Finds, in the system's order, the first name with `prefix` in the directory `path`. Stores and
/// returns it in `buffer`; "" if not found or too long. May allocate. Control plane.
[[nodiscard]] std::string_view find_name(const char* path, std::string_view prefix,
                                         std::span<char> buffer) noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/links.hpp"
#else
#error "alloctap/os/links.hpp has no implementation for this system"
#endif
