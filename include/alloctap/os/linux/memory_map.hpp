/// Memory map from /proc/self/maps, present pages from /proc/self/pagemap, and stack bounds.
#pragma once

#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

#include "alloctap/macros.hpp"
#include "alloctap/os/file.hpp"
#include "alloctap/os/linux/process.hpp"
#include "alloctap/os/memory_map.hpp"
#include "alloctap/os/thread_local.hpp"
#include "alloctap/os/virtual_memory.hpp"

namespace alloctap::os {

// Search for present pages by the ioctl PAGEMAP_SCAN of /proc/self/pagemap, Linux 6.7 and newer
// (the kernel's Documentation/admin-guide/mm/pagemap.rst). Skips reserved and untouched memory,
// possibly terabytes, in negligible time.

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
/// `end` are page boundaries. `page_map` is a descriptor of /proc/self/pagemap. Returns the end of
/// the searched range: `end`, or less if the kernel stopped early; `start` if it lacks the ioctl.
template <class Visit>
std::uintptr_t visit_found_pages(int page_map, std::uintptr_t start, std::uintptr_t end,
                                 Visit&& visit) noexcept {
  // Small, because the array is on the stack of a thread inside malloc.
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

/// Consumes a hexadecimal number and one character after it from `line`.
template <class Number>
inline Number take_hex(std::string_view& line) noexcept {
  Number value = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value, 16);
  static_cast<void>(error);
  const auto used = static_cast<std::size_t>(end - line.data());
  line.remove_prefix(std::min(line.size(), used + 1));
  return value;
}

inline void skip_field(std::string_view& line) noexcept {
  line.remove_prefix(std::min(line.size(), line.find(' ')));
  line.remove_prefix(std::min(line.size(), line.find_first_not_of(' ')));
}

/// Parses a line of /proc/PID/maps (proc(5)): start-end perms offset dev inode path.
MemoryRegion parse_memory_region(std::string_view line) noexcept;

/// A type-erased visitor, so that the parser is compiled only once.
struct RegionVisitor {
  const void* object;
  bool (*call)(const void* object, const MemoryRegion& region);

  bool operator()(const MemoryRegion& region) const { return call(object, region); }
};

bool visit_memory_map_erased(int file, std::span<char> buffer, const RegionVisitor& visit) noexcept;

/// Visits the regions in `file`, a descriptor of /proc/PID/maps.
template <class Visit>
bool visit_memory_map(int file, std::span<char> buffer, Visit&& visit) noexcept {
  using Object = std::remove_reference_t<Visit>;
  return visit_memory_map_erased(
      file, buffer, {&visit, [](const void* object, const MemoryRegion& region) -> bool {
                       return (*static_cast<Object*>(const_cast<void*>(object)))(region);
                     }});
}

template <class Visit>
bool visit_memory_map(std::span<char> buffer, Visit&& visit) noexcept {
  int error = 0;
  const File file = open_for_reading(OwnProcPath("maps").text(), error);
  return file.is_open() && visit_memory_map(file.descriptor(), buffer, visit);
}

template <class Visit>
bool visit_nameless_memory_map(std::span<char> buffer, Visit&& visit) noexcept {
  return visit_memory_map(buffer, visit);
}

inline constexpr bool kPrivateMemoryIsPlain = false;
inline constexpr bool kCopiesProtectedMemory = true;

inline bool may_hold_module(const MemoryRegion& region) noexcept {
  return region.path.starts_with('/') || region.path == "[vdso]";
}

/// Visits present pages one by one: works in any kernel, in time proportional to the reserved size.
/// `page_map` has 64 bits for each page (the kernel's admin-guide/mm/pagemap.rst); the highest two
/// mark pages in memory or swapped out. Returns the address up to which pages were visited.
template <class Visit>
std::uintptr_t visit_listed_pages(int page_map, std::uintptr_t start, std::uintptr_t end,
                                  Visit&& visit) noexcept {
  constexpr std::size_t kAtOnce = 128;
  const std::size_t page = page_size();
  std::uint64_t states[kAtOnce];
  while (start < end) {
    const std::size_t wanted = std::min(kAtOnce, (end - start) / page);
    const ssize_t read = ::pread(page_map, states, wanted * sizeof states[0],
                                 static_cast<off_t>(start / page * sizeof states[0]));
    if (read < static_cast<ssize_t>(sizeof states[0])) break;
    for (std::size_t i = 0; i < static_cast<std::size_t>(read) / sizeof states[0]; ++i) {
      if (states[i] >> 62 != 0) visit(start, start + page);
      start += page;
    }
  }
  return start;
}

/// A visitor that joins adjacent page ranges and clips them to `[start, end)`.
template <class Visit>
class JoinedPages {
 public:
  JoinedPages(std::uintptr_t start, std::uintptr_t end, Visit& visit) noexcept
      : start_(start), end_(end), visit_(visit), first_(start), last_(start) {}

  void operator()(std::uintptr_t start, std::uintptr_t end) noexcept {
    start = std::max(start, start_);
    if (start != last_) {
      finish();
      first_ = start;
    }
    last_ = std::min(end, end_);
  }

  void finish() noexcept {
    if (first_ < last_) visit_(first_, last_);
  }

 private:
  std::uintptr_t start_;
  std::uintptr_t end_;
  Visit& visit_;
  std::uintptr_t first_;
  std::uintptr_t last_;
};

/// Visits pages that are present in `page_map` (/proc/self/pagemap), or whose state is unknown.
template <class Visit>
void visit_present_pages(int page_map, std::uintptr_t start, std::uintptr_t end,
                         Visit&& visit) noexcept {
  if (start >= end) return;
  const std::size_t page = page_size();
  const std::uintptr_t pages_end = (end - 1) / page * page + page;
  JoinedPages join(start, end, visit);
  std::uintptr_t at = start / page * page;
  at = visit_found_pages(page_map, at, pages_end, join);
  at = visit_listed_pages(page_map, at, pages_end, join);
  if (at < pages_end) join(at, pages_end);
  join.finish();
}

template <class Visit>
void visit_present_pages(std::uintptr_t start, std::uintptr_t end, Visit&& visit) noexcept {
  int error = 0;
  const File page_map = open_for_reading(OwnProcPath("pagemap").text(), error);
  visit_present_pages(page_map.descriptor(), start, end, visit);
}

}  // namespace alloctap::os

// The initial stack pointer, set by glibc's loader.
extern "C" ALLOCTAP_WEAK void* __libc_stack_end;

namespace alloctap::os {

inline std::uintptr_t initial_stack_pointer() noexcept {
  return &__libc_stack_end != nullptr ? reinterpret_cast<std::uintptr_t>(__libc_stack_end)
                                      : UINTPTR_MAX;
}

inline bool is_initial_frame(std::uintptr_t sp) noexcept {
  if (sp < initial_stack_pointer()) return false;
  const ErrnoGuard preserve_error;
  // The kernel places this string above everything else on the initial stack, so above all frames.
  const auto name = static_cast<std::uintptr_t>(::getauxval(AT_EXECFN));
  return name == 0 || sp <= name;
}

inline StackBounds find_stack_bounds(std::uintptr_t address) noexcept {
  constexpr std::size_t kBufferBytes = 64 * 1024;
  auto* buffer = static_cast<char*>(map_pages(kBufferBytes));
  if (buffer == nullptr) return {};
  StackBounds bounds;
  visit_memory_map({buffer, kBufferBytes}, [&](const MemoryRegion& region) {
    if (address >= region.end) return true;
    if (address >= region.start && region.readable) bounds = {region.start, region.end};
    return false;
  });
  unmap_pages(buffer, kBufferBytes);
  return bounds;
}

}  // namespace alloctap::os

#ifndef ALLOCTAP_COMPILED
#include "alloctap/os/linux/impl/memory_map.hpp"
#endif
