/// Symbolic links and directory look-up.
#pragma once

#include <span>
#include <string_view>

namespace alloctap::os {

/// Returns the target of the symbolic link `path`, stored in `buffer`; empty if `path` is no link
/// or the target does not fit. May run anywhere.
[[nodiscard]] std::string_view read_link(const char* path, std::span<char> buffer) noexcept;

/// Returns the first name in the directory `path` that begins with `prefix`, in the system's order,
/// stored in `buffer`; empty if no name does or it does not fit. May allocate. Control plane.
[[nodiscard]] std::string_view find_name(const char* path, std::string_view prefix,
                                         std::span<char> buffer) noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/links.hpp"
#else
#error "alloctap/os/links.hpp has no implementation for this system"
#endif
