/// Facts about this process: executable, arguments, environment, resident memory.
///
/// Allocates nothing; may run inside malloc, also before the C library is initialized. errno may
/// change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace alloctap::os {

/// Returns the path of the running executable, stored in `buffer`; empty if unknown.
std::string_view executable_path(std::span<char> buffer) noexcept;

/// Returns the arguments, separated by '\0' and cut to the size of `buffer`.
std::string_view command_line(std::span<char> buffer) noexcept;

/// Returns the value of the environment variable `name` at program start, copied to `buffer` with a
/// final '\0'. Its data is nullptr if the variable was not set or does not fit. Unlike getenv it
/// sees the state at exec and works before the C library is set up.
std::string_view initial_environment(std::string_view name, std::span<char> buffer) noexcept;

/// Returns the resident memory in bytes, as the kernel counts it: it may lag by some pages per
/// thread. 0 if unknown.
std::uint64_t resident_bytes() noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/process.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/process.hpp"
#else
#error "alloctap/os/process.hpp has no implementation for this system"
#endif
