/// Futex by futex(2).
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>

#include "alloctap/os/futex.hpp"
#include "alloctap/os/thread_local.hpp"

namespace alloctap::os {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

inline void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                       std::int64_t timeout_ns) noexcept {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const timespec limit{.tv_sec = timeout_ns / kSecond, .tv_nsec = timeout_ns % kSecond};
  const ErrnoGuard preserve_error;
  ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, timeout_ns < 0 ? nullptr : &limit);
}

inline void futex_wake_one(const std::atomic<std::uint32_t>& word) noexcept {
  const ErrnoGuard preserve_error;
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1);
}

inline void futex_wake_all(const std::atomic<std::uint32_t>& word) noexcept {
  const ErrnoGuard preserve_error;
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX);
}

}  // namespace alloctap::os
