// MADV_DONTFORK leaves memory out of a fork and MADV_WIPEONFORK hands it out empty (madvise(2));
// drivers ask for the former too. The kernel names neither in /proc/PID/maps, and /proc/PID/smaps,
// which does, looks at every page of a process whose threads stand still meanwhile.
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

/// The memory of a process, which opens it before it forks, for the child.
struct OpenedMemory {
  /// 0, or the negated errno where the map cannot be read. A process that may not be dumped may not
  /// open the others (prctl(2)); nothing is fetched then.
  int open() noexcept;

  File map;
  File page_map;
  File memory;
};

/// In a forked child: fetches what fork left out from the parent, whose threads stand still, and
/// puts it at the same addresses. Allocates nothing; not thread-safe.
class UnforkedMemory {
 public:
  /// So much is fetched at most, because threads stand meanwhile.
  static constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 30;

  /// `parent` outlives this.
  explicit UnforkedMemory(const OpenedMemory& parent) noexcept : parent_(parent) {}

  /// Once.
  void fetch() noexcept;

  /// Bytes that may hold anything and could not be fetched.
  [[nodiscard]] std::uint64_t unread_bytes() const noexcept { return unread_bytes_; }

 private:
  static constexpr std::size_t kMaxListed = std::size_t{1} << 30;

  static bool is_plain(const MemoryRegion& region) noexcept {
    return !region.shared && (region.path.empty() || region.path.front() == '[');
  }

  /// What may not be read now and is no memory of the program's, or only reserved.
  static bool is_out_of_reach(const MemoryRegion& region) noexcept {
    return !region.readable && (!is_plain(region) || region.end - region.start > kMaxListed);
  }

  static bool is_mapped(std::uintptr_t address) noexcept {
    unsigned char in_memory = 0;
    return ::syscall(SYS_mincore, address, page_size(), &in_memory) == 0 || errno != ENOMEM;
  }

  /// A fork hands out a mapping as a whole: the child has all pages or none.
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
