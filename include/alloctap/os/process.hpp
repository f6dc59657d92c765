/// This process: executable, arguments, environment, memory, fork handlers, leak suppressions.
///
/// Unless stated otherwise, a function allocates nothing and may run inside malloc, even before the
/// C library is initialized. errno may change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace alloctap::os {

/// Stores the path of the running executable in `buffer` and returns the path; "" if unknown.
std::string_view executable_path(std::span<char> buffer) noexcept;

/// Stores the arguments, separated by '\0', in `buffer` and returns them, cut to its size.
std::string_view command_line(std::span<char> buffer) noexcept;

/// Copies the value of the environment variable `name` to `buffer`, with a final '\0', and returns
/// the copy. Its data pointer is nullptr if the variable is unset or does not fit. Unlike getenv,
/// reads the environment as of exec and works before the C library is initialized.
std::string_view initial_environment(std::string_view name, std::span<char> buffer) noexcept;

/// Sets the environment variable `name`, or removes it if `value` is nullptr. Control plane; not
/// thread-safe with other uses of the environment. Returns false on failure.
bool set_environment(const char* name, const char* value) noexcept;

/// Returns the kernel's count of resident memory in bytes; 0 if unknown. May lag by some pages per
/// thread.
std::uint64_t resident_bytes() noexcept;

/// Registers functions that run in the forking thread: `prepare` before the fork, `parent` and
/// `child` after it. Cannot be undone. Returns false if out of memory. May allocate by malloc.
/// vfork, posix_spawn and raw clone calls do not run the functions.
bool register_fork_handlers(void (*prepare)(), void (*parent)(), void (*child)()) noexcept;

/// Returns the program's leak suppressions: the result of LeakSanitizer's function
/// `__lsan_default_suppressions`. Returns nullptr if the loader finds no such function. Control
/// plane, because it calls the program.
const char* default_suppressions() noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/process.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/process.hpp"
#else
#error "alloctap/os/process.hpp has no implementation for this system"
#endif
