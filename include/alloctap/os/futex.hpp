/// Sleeping on a 32-bit word until another thread changes it.
///
/// May run inside malloc and inside a signal handler. The error number stays as it is.
#pragma once

#include <atomic>
#include <cstdint>

namespace alloctap::os {

/// No limit for `futex_wait`.
inline constexpr std::int64_t kForever = -1;

/// Sleeps while `word == expected`, at most `timeout_ns` nanoseconds. May wake without cause.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                std::int64_t timeout_ns = kForever) noexcept;

/// Wakes one thread that sleeps on `word`.
void futex_wake_one(const std::atomic<std::uint32_t>& word) noexcept;

/// Wakes all threads that sleep on `word`.
void futex_wake_all(const std::atomic<std::uint32_t>& word) noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/futex.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/futex.hpp"
#else
#error "alloctap/os/futex.hpp has no implementation for this system"
#endif
