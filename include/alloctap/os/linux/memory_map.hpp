/// Memory map from /proc/self/maps. Its lines (proc(5)) have: start-end perms offset dev inode
/// path.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <type_traits>

#include "alloctap/os/file.hpp"
#include "alloctap/os/linux/own_proc_path.hpp"
#include "alloctap/os/linux/page_table_scan.hpp"
#include "alloctap/os/memory_map.hpp"
#include "alloctap/os/virtual_memory.hpp"

namespace alloctap::os {

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

#ifndef ALLOCTAP_COMPILED
#include "alloctap/os/linux/impl/memory_map.hpp"
#endif
