/// What the system knows of this process beyond its threads.
///
/// Allocates nothing; may run inside malloc, also before the C library is initialized. errno may
/// change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace alloctap::os {

/// The path of the running executable, written to `buffer`; empty where it is unknown.
std::string_view executable_path(std::span<char> buffer) noexcept;

/// The arguments, `buffer`-cut, with '\0' between them and none at the end.
std::string_view command_line(std::span<char> buffer) noexcept;

/// The value that the environment variable `name` had when the program started, copied to
/// `buffer` and ended by '\0'; nullptr data where it was not set or does not fit. Unlike getenv it
/// sees the state at exec and works before the C library is set up.
std::string_view initial_environment(std::string_view name, std::span<char> buffer) noexcept;

/// The resident memory of this process in bytes, as the kernel counts it: it may lag by some pages
/// per thread. 0 where it is unknown.
std::uint64_t resident_bytes() noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/process.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/process.hpp"
#else
#error "alloctap/os/process.hpp has no implementation for this system"
#endif
