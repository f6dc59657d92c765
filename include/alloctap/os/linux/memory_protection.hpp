/// Page protection by mprotect(2), and pages reserved by raw system calls.
#pragma once

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloctap/os/memory_protection.hpp"

namespace alloctap::os {

/// Returns the mprotect flag for branch target checks (PROT_BTI) if the processor supports these
/// checks (HWCAP2_BTI), otherwise 0. The numbers are kernel ABI; old headers lack them.
int branch_guard() noexcept;

inline std::string why_code_is_forbidden() {
  return "SELinux, a seccomp filter or PR_SET_MDWE may forbid it";
}

/// A reservation that closes pages by guard markers in the page table (MADV_GUARD_INSTALL, Linux
/// 6.13; madvise(2)) if the kernel supports them, otherwise by PROT_NONE mappings. A marker costs a
/// third of what a mapping costs, and does not split the readable and writable mapping around it.
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

  /// Uses a PROT_NONE mapping for pages locked in memory (mlockall), because markers cannot be set
  /// on locked pages. One mmap replaces the two calls mprotect and madvise.
  bool close(void* address, std::size_t bytes) noexcept;

  [[nodiscard]] bool splits_ranges() const noexcept {
    return has_mappings_.load(std::memory_order_relaxed);
  }

 private:
  /// MADV_GUARD_INSTALL and MADV_GUARD_REMOVE, missing from older headers.
  static constexpr int kInstall = 102;
  static constexpr int kRemove = 103;

  /// Returns true if markers work, tried on the first page; `page` is the page size. Also tests
  /// that the kernel cannot write to the page, because emulators (qemu-user) may report success
  /// without an effect.
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
  /// True if some pages are closed by a mapping.
  std::atomic<bool> has_mappings_{false};
};

}  // namespace alloctap::os

#ifndef ALLOCTAP_COMPILED
#include "alloctap/os/linux/impl/memory_protection.hpp"
#endif
