/// Futex: blocking on a 32-bit word until another thread changes it.
///
/// May run inside malloc and inside a signal handler. Preserves errno or GetLastError.
#pragma once

#include <atomic>
#include <cstdint>

namespace alloctap::os {

/// A timeout for `futex_wait` that means no time limit.
inline constexpr std::int64_t kForever = -1;

/// Blocks while `word == expected`, at most `timeout_ns` nanoseconds. May wake spuriously.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                std::int64_t timeout_ns = kForever) noexcept;

void futex_wake_one(const std::atomic<std::uint32_t>& word) noexcept;
void futex_wake_all(const std::atomic<std::uint32_t>& word) noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/futex.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/futex.hpp"
#else
#error "alloctap/os/futex.hpp has no implementation for this system"
#endif
