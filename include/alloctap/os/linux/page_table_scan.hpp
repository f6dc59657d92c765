/// Search for present pages by the ioctl PAGEMAP_SCAN of /proc/self/pagemap, Linux 6.7 and newer
/// (the kernel's Documentation/admin-guide/mm/pagemap.rst). Skips reserved and untouched memory,
/// possibly terabytes, in negligible time.
///
/// Allocates nothing. May run on any thread, inside malloc and inside a signal handler. errno may
/// change.
#pragma once

#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace alloctap::os {

/// The kernel's `struct page_region`: pages `[start, end)` with equal flags.
struct FoundPages {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t categories = 0;
};

/// The kernel's `struct pm_scan_arg`, missing from headers before 6.7.
struct PageSearch {
  std::uint64_t size = sizeof(PageSearch);
  std::uint64_t flags = 0;
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  /// The kernel stores here the address at which the search stopped.
  std::uint64_t walk_end = 0;
  std::uint64_t found = 0;
  std::uint64_t found_size = 0;
  /// Maximum number of pages to find; 0 means no limit.
  std::uint64_t max_pages = 0;
  std::uint64_t category_inverted = 0;
  std::uint64_t category_mask = 0;
  std::uint64_t category_anyof_mask = 0;
  std::uint64_t return_mask = 0;
};

/// PAGE_IS_PRESENT, PAGE_IS_SWAPPED, and PAGE_IS_PFNZERO (the zero page, mapped by reads).
inline constexpr std::uint64_t kPageIsPresent = 1 << 3;
inline constexpr std::uint64_t kPageIsSwapped = 1 << 4;
inline constexpr std::uint64_t kPageIsZero = 1 << 5;

/// Returns a search for pages that were written and are in memory or swapped out.
inline PageSearch search_of_written_pages(std::span<FoundPages> found,
                                          std::uintptr_t end) noexcept {
  PageSearch search;
  search.end = end;
  search.found = reinterpret_cast<std::uintptr_t>(found.data());
  search.found_size = found.size();
  search.category_inverted = kPageIsZero;
  search.category_mask = kPageIsZero;
  search.category_anyof_mask = kPageIsPresent | kPageIsSwapped;
  search.return_mask = search.category_anyof_mask;
  return search;
}

inline long search_pages(int page_map, PageSearch& search, std::uintptr_t start) noexcept {
  constexpr unsigned long kPagemapScan = _IOWR('f', 16, PageSearch);
  search.start = start;
  return ::syscall(SYS_ioctl, page_map, kPagemapScan, &search);
}

/// Calls `visit(start, end)` for ranges of pages in `[start, end)` that were written and are in
/// memory or swapped out. Visits them by ascending address; ranges may be adjacent. `start` and
/// `end` are page boundaries. `page_map` is a descriptor of /proc/self/pagemap. Returns the address
/// it reached: `end`, less if the kernel stopped early, `start` if the kernel lacks the ioctl.
template <class Visit>
std::uintptr_t visit_found_pages(int page_map, std::uintptr_t start, std::uintptr_t end,
                                 Visit&& visit) noexcept {
  // Small, because it is on the stack of a thread inside malloc.
  constexpr std::size_t kAtOnce = 32;
  FoundPages found[kAtOnce];
  PageSearch search = search_of_written_pages(found, end);
  while (start < end) {
    const long count = search_pages(page_map, search, start);
    if (count < 0 || search.walk_end <= start) break;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      visit(static_cast<std::uintptr_t>(found[i].start), static_cast<std::uintptr_t>(found[i].end));
    }
    start = static_cast<std::uintptr_t>(search.walk_end);
  }
  return start;
}

/// Returns true if the range has a page that was written; nullopt if the kernel lacks the ioctl.
inline std::optional<bool> has_found_page(int page_map, std::uintptr_t start,
                                          std::uintptr_t end) noexcept {
  FoundPages found[1];
  PageSearch search = search_of_written_pages(found, end);
  search.max_pages = 1;
  const long count = search_pages(page_map, search, start);
  return count < 0 ? std::nullopt : std::optional(count > 0);
}

}  // namespace alloctap::os
