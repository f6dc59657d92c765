// Raw system calls: the libc wrappers are symbols that an interposing backend replaces.
#pragma once

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloctap/os/reserved_pages.hpp"

namespace alloctap::os {

/// Closes a page by a marker in the page table (MADV_GUARD_INSTALL, Linux 6.13; madvise(2)) where
/// the system has those, and else by a mapping without access. A marker costs a third, and splits
/// no mapping. Pages with markers lie in one mapping that is readable and writable.
class ReservedPages {
 public:
  constexpr ReservedPages() noexcept = default;

  bool reserve(std::size_t bytes) noexcept;

  void unreserve() noexcept;

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
  bool close(void* address, std::size_t bytes) noexcept;

  [[nodiscard]] bool splits_ranges() const noexcept {
    return has_mappings_.load(std::memory_order_relaxed);
  }

 private:
  /// MADV_GUARD_INSTALL and MADV_GUARD_REMOVE, which older headers do not have.
  static constexpr int kInstall = 102;
  static constexpr int kRemove = 103;

  /// On the first page. Who runs programs for another system (qemu-user) may answer that all went
  /// well and do nothing, so the system has to refuse to write there, too.
  bool try_marker(std::size_t page) noexcept;

  static std::byte* map_inaccessible(void* address, std::size_t bytes, int fixed) noexcept;

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
  std::atomic<bool> has_mappings_{false};
};

}  // namespace alloctap::os

#ifndef ALLOCTAP_COMPILED
#include "alloctap/os/linux/impl/reserved_pages.hpp"
#endif
