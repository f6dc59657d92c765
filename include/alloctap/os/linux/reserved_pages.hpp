// Raw system calls: the libc wrappers are symbols that an interposing backend replaces.
#pragma once

#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <ctime>

#include "alloctap/os/confinement.hpp"
#include "alloctap/os/process.hpp"
#include "alloctap/os/reserved_pages.hpp"

namespace alloctap::os {

/// Closes a page by a marker in the page table (MADV_GUARD_INSTALL, Linux 6.13; madvise(2)) where
/// the system has those, and else by a mapping without access. A marker costs a third, and splits
/// no mapping. Pages with markers lie in one mapping that is readable and writable.
class ReservedPages {
 public:
  constexpr ReservedPages() noexcept = default;

  bool reserve(std::size_t bytes) noexcept {
    begin_ = map_inaccessible(nullptr, bytes, 0);
    if (begin_ == nullptr) return false;
    bytes_ = bytes;
    has_markers_ = try_marker(static_cast<std::size_t>(::getauxval(AT_PAGESZ)));
    has_mappings_.store(!has_markers_, std::memory_order_relaxed);
    return true;
  }

  void unreserve() noexcept {
    ::syscall(SYS_munmap, begin_, bytes_);
    begin_ = nullptr;
    bytes_ = 0;
  }

  [[nodiscard]] std::byte* begin() const noexcept { return begin_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  void prepare(void* address, std::size_t bytes) noexcept {
    const bool is_done = has_markers_ && advise(address, bytes, kInstall) && permit(address, bytes);
    if (!is_done) has_mappings_.store(true, std::memory_order_relaxed);
  }

  bool open(void* address, std::size_t bytes) noexcept {
    if (has_markers_ && !advise(address, bytes, kRemove)) return false;
    return !splits_ranges() || permit(address, bytes);
  }

  /// Pages that the program locked in memory (mlockall) take no markers. A mapping is made in one
  /// call, where mprotect and madvise would be two.
  bool close(void* address, std::size_t bytes) noexcept {
    if (has_markers_ && advise(address, bytes, kInstall)) return true;
    has_mappings_.store(true, std::memory_order_relaxed);
    return map_inaccessible(address, bytes, MAP_FIXED) == address;
  }

  [[nodiscard]] bool splits_ranges() const noexcept {
    return has_mappings_.load(std::memory_order_relaxed);
  }

 private:
  /// MADV_GUARD_INSTALL and MADV_GUARD_REMOVE, which older headers do not have.
  static constexpr int kInstall = 102;
  static constexpr int kRemove = 103;

  /// On the first page. Who runs programs for another system (qemu-user) may answer that all went
  /// well and do nothing, so the system has to refuse to write there, too.
  bool try_marker(std::size_t page) noexcept {
    if (threads_are_confined.load(std::memory_order_relaxed)) return false;
    if (!advise(begin_, page, kInstall)) return false;
    const bool is_closed = permit(begin_, page) &&
                           ::syscall(SYS_clock_gettime, CLOCK_MONOTONIC, begin_) == -1 &&
                           errno == EFAULT;
    if (!is_closed) map_inaccessible(begin_, page, MAP_FIXED);
    return is_closed;
  }

  static std::byte* map_inaccessible(void* address, std::size_t bytes, int fixed) noexcept {
    const long result = ::syscall(SYS_mmap, address, bytes, PROT_NONE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0L);
    return result == -1 ? nullptr : reinterpret_cast<std::byte*>(result);
  }

  static bool permit(void* address, std::size_t bytes) noexcept {
    return ::syscall(SYS_mprotect, address, bytes, PROT_READ | PROT_WRITE) == 0;
  }

  static bool advise(void* address, std::size_t bytes, int advice) noexcept {
    return ::syscall(SYS_madvise, address, bytes, advice) == 0;
  }

  std::byte* begin_ = nullptr;
  std::size_t bytes_ = 0;
  bool has_markers_ = false;
  /// Whether the access of some pages is that of a mapping.
  std::atomic<bool> has_mappings_{true};
};

inline AddressLimits address_limits() noexcept {
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
