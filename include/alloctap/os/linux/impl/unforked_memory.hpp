/// Definitions for os/linux/unforked_memory.hpp.
#pragma once

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "alloctap/macros.hpp"
#include "alloctap/os/file.hpp"
#include "alloctap/os/linux/memory_map.hpp"
#include "alloctap/os/linux/own_proc_path.hpp"
#include "alloctap/os/linux/page_table_scan.hpp"
#include "alloctap/os/linux/unforked_memory.hpp"
#include "alloctap/os/virtual_memory.hpp"

namespace alloctap::os {

ALLOCTAP_INLINE int OpenedMemory::open() noexcept {
  int error = 0;
  int ignored = 0;
  map = open_for_reading(OwnProcPath("maps").text(), error);
  page_map = open_for_reading(OwnProcPath("pagemap").text(), ignored);
  memory = open_for_reading(OwnProcPath("mem").text(), ignored);
  return error;
}

ALLOCTAP_INLINE void UnforkedMemory::fetch() noexcept {
  int error = 0;
  const File own = open_for_reading(OwnProcPath("pagemap").text(), error);
  char buffer[4 * kMemoryMapLine];
  visit_memory_map(parent_.map.descriptor(), buffer, [&](const MemoryRegion& region) {
    const bool is_code = region.executable && !region.writable;
    if (is_code || is_out_of_reach(region) || region.path.starts_with("[v")) return true;
    if (!is_mapped(region.start)) {
      fetch_missing(region);
    } else if (is_plain(region) && is_wiped(region, own.descriptor())) {
      fetch_wiped(region);
    }
    return true;
  });
}

ALLOCTAP_INLINE bool UnforkedMemory::has_page(int page_map, const MemoryRegion& region) noexcept {
  if (const auto known = has_found_page(page_map, region.start, region.end)) return *known;
  // Before Linux 6.7, searches page by page. To save time, assumes that large mappings were forked.
  const std::size_t step = 1024 * page_size();
  bool found = region.end - region.start > kMaxListed;
  for (std::uintptr_t at = region.start; at < region.end && !found;) {
    const std::uintptr_t end = std::min(region.end, at + step);
    found = visit_listed_pages(page_map, at, end, [&](auto, auto) { found = true; }) < end || found;
    at = end;
  }
  return found;
}

ALLOCTAP_INLINE void UnforkedMemory::fetch_missing(const MemoryRegion& region) noexcept {
  const long place =
      ::syscall(SYS_mmap, region.start, region.end - region.start, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0L);
  if (static_cast<std::uintptr_t>(place) != region.start) {
    unread_bytes_ += region.end - region.start;
    return;
  }
  if (is_plain(region)) {
    fetch_pages(region);
  } else {
    fetch(region.start, region.end);
  }
  protect_again(region);
}

ALLOCTAP_INLINE void UnforkedMemory::fetch_wiped(const MemoryRegion& region) noexcept {
  if (!region.writable) protect(region, PROT_READ | PROT_WRITE);
  fetch_pages(region);
  protect_again(region);
}

ALLOCTAP_INLINE void UnforkedMemory::fetch(std::uintptr_t start, std::uintptr_t end) noexcept {
  const std::size_t page = page_size();
  const std::uint64_t left = parent_.memory.is_open() ? kMaxBytes - fetched_bytes_ : 0;
  const std::uintptr_t wanted = std::min(end - start, left);
  unread_bytes_ += end - start - wanted;
  fetched_bytes_ += wanted;
  for (end = start + wanted; start < end;) {
    const long count = ::syscall(SYS_pread64, parent_.memory.descriptor(), start, end - start,
                                 static_cast<long>(start));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) unread_bytes_ += page;
    start += count > 0 ? static_cast<std::uintptr_t>(count) : page;
  }
}

}  // namespace alloctap::os
