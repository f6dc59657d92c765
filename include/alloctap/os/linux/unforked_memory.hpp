/// Copies memory that fork omits. MADV_DONTFORK omits pages, as some drivers do; MADV_WIPEONFORK
/// zeroes pages (madvise(2)). /proc/PID/maps does not show either flag. /proc/PID/smaps does, but
/// the kernel then visits every page while the process is stopped.
#pragma once

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/os/file.hpp"
#include "alloctap/os/linux/memory_map.hpp"
#include "alloctap/os/virtual_memory.hpp"

namespace alloctap::os {

/// /proc files of a process, opened before it forks and used by the child.
struct OpenedMemory {
  /// Opens the files. Returns 0, or the negated errno if `map` cannot be opened. A non-dumpable
  /// process (prctl(2)) cannot open the other files; then nothing is copied.
  int open() noexcept;

  File map;
  File page_map;
  File memory;
};

/// Runs in a forked child. Copies memory that fork omitted from the stopped parent to equal
/// addresses. Allocates nothing; not thread-safe.
class UnforkedMemory {
 public:
  /// Maximum number of bytes to copy, because threads are stopped meanwhile.
  static constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 30;

  /// `parent` must outlive this object.
  explicit UnforkedMemory(const OpenedMemory& parent) noexcept : parent_(parent) {}

  /// Copies the memory. Called once.
  void fetch() noexcept;

  /// Returns the number of bytes that may have contents but could not be copied.
  [[nodiscard]] std::uint64_t unread_bytes() const noexcept { return unread_bytes_; }

 private:
  static constexpr std::size_t kMaxListed = std::size_t{1} << 30;

  static bool is_plain(const MemoryRegion& region) noexcept {
    return !region.shared && (region.path.empty() || region.path.front() == '[');
  }

  /// Returns true to skip a region: unreadable, and shared, mapped from a file, or very large.
  static bool is_out_of_reach(const MemoryRegion& region) noexcept {
    return !region.readable && (!is_plain(region) || region.end - region.start > kMaxListed);
  }

  static bool is_mapped(std::uintptr_t address) noexcept {
    unsigned char in_memory = 0;
    return ::syscall(SYS_mincore, address, page_size(), &in_memory) == 0 || errno != ENOMEM;
  }

  /// Returns true if fork zeroed the region. Fork copies all pages of a mapping or no page.
  [[nodiscard]] bool is_wiped(const MemoryRegion& region, int own) const noexcept {
    return !has_page(own, region) && has_page(parent_.page_map.descriptor(), region);
  }

  static bool has_page(int page_map, const MemoryRegion& region) noexcept;

  void fetch_missing(const MemoryRegion& region) noexcept;

  void fetch_wiped(const MemoryRegion& region) noexcept;

  void fetch_pages(const MemoryRegion& region) noexcept {
    visit_present_pages(parent_.page_map.descriptor(), region.start, region.end,
                        [this](std::uintptr_t start, std::uintptr_t end) { fetch(start, end); });
  }

  void fetch(std::uintptr_t start, std::uintptr_t end) noexcept;

  static void protect_again(const MemoryRegion& region) noexcept {
    if (!region.writable) protect(region, region.readable ? PROT_READ : PROT_NONE);
  }

  static void protect(const MemoryRegion& region, int protection) noexcept {
    ::syscall(SYS_mprotect, region.start, region.end - region.start, protection);
  }

  const OpenedMemory& parent_;
  std::uint64_t fetched_bytes_ = 0;
  std::uint64_t unread_bytes_ = 0;
};

}  // namespace alloctap::os

#ifndef ALLOCTAP_COMPILED
#include "alloctap/os/linux/impl/unforked_memory.hpp"
#endif
