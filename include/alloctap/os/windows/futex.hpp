/// Futex by WaitOnAddress, which neither allocates nor takes the loader lock.
///
/// Exists since Windows 8 (Synchronization.lib).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "alloctap/os/futex.hpp"
#include "alloctap/os/thread_local.hpp"
#include "alloctap/os/windows/api.hpp"

namespace alloctap::os {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

inline void* word_address(const std::atomic<std::uint32_t>& word) noexcept {
  return const_cast<std::atomic<std::uint32_t>*>(&word);
}

/// Rounds the timeout up to milliseconds, so that a positive timeout does not become 0.
inline void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                       std::int64_t timeout_ns) noexcept {
  constexpr std::int64_t kMillisecond = 1'000'000;
  constexpr std::int64_t kLongest = INFINITE - 1;
  const std::int64_t limit = timeout_ns / kMillisecond + (timeout_ns % kMillisecond != 0 ? 1 : 0);
  const ErrnoGuard preserve_error;
  ::WaitOnAddress(word_address(word), &expected, sizeof expected,
                  timeout_ns < 0 ? INFINITE : static_cast<DWORD>(std::min(limit, kLongest)));
}

inline void futex_wake_one(const std::atomic<std::uint32_t>& word) noexcept {
  const ErrnoGuard preserve_error;
  ::WakeByAddressSingle(word_address(word));
}

inline void futex_wake_all(const std::atomic<std::uint32_t>& word) noexcept {
  const ErrnoGuard preserve_error;
  ::WakeByAddressAll(word_address(word));
}

}  // namespace alloctap::os
