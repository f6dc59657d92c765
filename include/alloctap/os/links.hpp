/// Symbolic links, and the folders that have them.
#pragma once

#include <span>
#include <string_view>

namespace alloctap::os {

/// Returns what the symbolic link at `path` leads to; empty if there is none, or no room for it in
/// `buffer`, which it is in. May run anywhere.
[[nodiscard]] std::string_view read_link(const char* path, std::span<char> buffer) noexcept;

/// Returns the first name in the folder `path` that begins with `prefix`, in the order of the
/// system's list; empty if there is none, or no room for it in `buffer`, which it is in. May
/// allocate. Control plane.
[[nodiscard]] std::string_view find_name(const char* path, std::string_view prefix,
                                         std::span<char> buffer) noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/links.hpp"
#else
#error "alloctap/os/links.hpp has no implementation for this system"
#endif
