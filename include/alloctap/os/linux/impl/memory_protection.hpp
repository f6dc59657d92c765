/// Definitions for os/linux/memory_protection.hpp.
#pragma once

#include <linux/futex.h>
#include <sys/auxv.h>
#include <sys/resource.h>

#include <cerrno>
#include <charconv>

#include "alloctap/macros.hpp"
#include "alloctap/os/linux/memory_protection.hpp"
#include "alloctap/os/process.hpp"
#include "alloctap/os/thread.hpp"
#include "alloctap/os/thread_local.hpp"

namespace alloctap::os {

ALLOCTAP_INLINE int branch_guard() noexcept {
#if defined(__aarch64__)
  constexpr unsigned long kHasBranchTargets = 1UL << 17;
  constexpr int kGuarded = 0x10;
  return (::getauxval(AT_HWCAP2) & kHasBranchTargets) != 0 ? kGuarded : 0;
#else
  return 0;
#endif
}

ALLOCTAP_INLINE bool protect_pages(std::uintptr_t address, std::size_t bytes,
                                   Protection protection) noexcept {
  const int flags = (protection.readable ? PROT_READ : 0) | (protection.writable ? PROT_WRITE : 0) |
                    (protection.executable ? PROT_EXEC : 0) |
                    (protection.guarded ? branch_guard() : 0);
  return ::syscall(SYS_mprotect, address, bytes, flags) == 0;
}

/// Lets the kernel add 0 to a word of each page, which fails with EFAULT if the page is not
/// writable. Uses FUTEX_WAKE_OP (futex(2)): every seccomp filter permits futex, because
/// multi-threaded malloc needs it.
ALLOCTAP_INLINE bool may_write(std::uintptr_t address, std::size_t bytes) noexcept {
  constexpr unsigned kAddNothing = FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_EQ, 0);
  const ErrnoGuard preserve_error;
  const std::uintptr_t page = ::getauxval(AT_PAGESZ);
  std::uint32_t no_waiters = 0;
  for (std::uintptr_t at = address / page * page; at < address + bytes; at += page) {
    const long woken = ::syscall(SYS_futex, &no_waiters, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, 0UL,
                                 at, kAddNothing);
    if (woken < 0 && errno == EFAULT) return false;
  }
  return true;
}

ALLOCTAP_INLINE bool ReservedPages::reserve(std::size_t bytes) noexcept {
  begin_ = map_inaccessible(nullptr, bytes, 0);
  if (begin_ == nullptr) return false;
  bytes_ = bytes;
  has_markers_ = try_marker(static_cast<std::size_t>(::getauxval(AT_PAGESZ)));
  has_mappings_.store(!has_markers_, std::memory_order_relaxed);
  return true;
}

ALLOCTAP_INLINE void ReservedPages::unreserve() noexcept {
  ::syscall(SYS_munmap, begin_, bytes_);
  begin_ = nullptr;
  bytes_ = 0;
}

ALLOCTAP_INLINE bool ReservedPages::close(void* address, std::size_t bytes) noexcept {
  if (has_markers_ && advise(address, bytes, kInstall)) return true;
  has_mappings_.store(true, std::memory_order_relaxed);
  return map_inaccessible(address, bytes, MAP_FIXED) == address;
}

ALLOCTAP_INLINE bool ReservedPages::try_marker(std::size_t page) noexcept {
  if (threads_are_confined.load(std::memory_order_relaxed)) return false;
  if (!advise(begin_, page, kInstall)) return false;
  const bool is_closed = permit(begin_, page) &&
                         ::syscall(SYS_clock_gettime, CLOCK_MONOTONIC, begin_) == -1 &&
                         errno == EFAULT;
  if (!is_closed) map_inaccessible(begin_, page, MAP_FIXED);
  return is_closed;
}

ALLOCTAP_INLINE std::byte* ReservedPages::map_inaccessible(void* address, std::size_t bytes,
                                                           int fixed) noexcept {
  const long result = ::syscall(SYS_mmap, address, bytes, PROT_NONE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0L);
  return result == -1 ? nullptr : reinterpret_cast<std::byte*>(result);
}

ALLOCTAP_INLINE AddressLimits address_limits() noexcept {
  AddressLimits limits;
  if (threads_are_confined.load(std::memory_order_relaxed)) return limits;
  rlimit space{};
  constexpr int kSelf = 0;
  const long asked = ::syscall(SYS_prlimit64, kSelf, static_cast<int>(RLIMIT_AS), nullptr, &space);
  if (asked == 0 && space.rlim_cur != RLIM_INFINITY) limits.bytes = space.rlim_cur;
  char text[32];
  const std::size_t length = read_file_start("/proc/sys/vm/max_map_count", text);
  std::from_chars(text, text + length, limits.ranges);
  return limits;
}

}  // namespace alloctap::os
