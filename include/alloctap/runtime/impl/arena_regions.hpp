/// The bodies of runtime/arena_regions.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>

#include "alloctap/macros.hpp"
#include "alloctap/runtime/arena_regions.hpp"

namespace alloctap {

ALLOCTAP_INLINE void ArenaRegions::add(const void* address, std::size_t bytes) noexcept {
  const auto start = reinterpret_cast<std::uintptr_t>(address);
  const std::lock_guard hold(lock_);
  insert({start, start + bytes});
}

ALLOCTAP_INLINE void ArenaRegions::remove(const void* address, std::size_t bytes) noexcept {
  const auto start = reinterpret_cast<std::uintptr_t>(address);
  const std::uintptr_t end = start + bytes;
  const std::lock_guard hold(lock_);
  for (std::size_t at = first_ending_behind(start); at < count_ && regions_[at].start < end;) {
    const Region old = regions_[at];
    erase(at);
    if (old.start < start) insert({old.start, start});
    if (old.end > end) insert({end, old.end});
    at = first_ending_behind(old.end);
  }
}

ALLOCTAP_INLINE bool ArenaRegions::find_ending_behind(std::uintptr_t address,
                                                      Region& region) noexcept {
  const std::lock_guard hold(lock_);
  const std::size_t at = first_ending_behind(address);
  if (at == count_) return false;
  region = regions_[at];
  return true;
}

ALLOCTAP_INLINE std::size_t ArenaRegions::first_ending_behind(std::uintptr_t address) noexcept {
  std::size_t low = 0;
  for (std::size_t high = count_; low < high;) {
    const std::size_t middle = (low + high) / 2;
    if (regions_[middle].end > address) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

ALLOCTAP_INLINE void ArenaRegions::insert(Region added) noexcept {
  std::size_t at = first_ending_behind(added.start);
  if (at > 0 && regions_[at - 1].end == added.start) {
    added.start = regions_[--at].start;
    erase(at);
  }
  if (at < count_ && regions_[at].start == added.end) {
    regions_[at].start = added.start;
    return;
  }
  if (count_ == kMaxCount) {
    complete_ = false;
    return;
  }
  std::memmove(&regions_[at + 1], &regions_[at], (count_ - at) * sizeof(Region));
  regions_[at] = added;
  ++count_;
}

}  // namespace alloctap
