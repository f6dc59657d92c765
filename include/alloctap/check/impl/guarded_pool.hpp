/// The bodies of check/guarded_pool.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "alloctap/check/block_pool.hpp"
#include "alloctap/check/guarded_pool.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/reserved_pages.hpp"
#include "alloctap/os/virtual_memory.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/runtime/arena_regions.hpp"

namespace alloctap {

ALLOCTAP_INLINE GuardedPool::Run GuardedPool::take(std::size_t pages, Number number,
                                                   const Limits& limits) noexcept {
  const std::lock_guard hold(lock_);
  if (!is_made()) make(limits);
  if (pages_ == nullptr || live_ >= most_live()) return {};
  const std::size_t wanted = pages + kGuards;
  const std::size_t size_class = class_of(wanted);
  if (size_class >= kClasses) return {};
  const std::size_t first = take_pages(size_class);
  if (first == kNoPage) return {};
  Run run{.begin = at(first), .before = pages_[first].owner.load(std::memory_order_relaxed)};
  for (std::size_t i = first; i < first + pages_[first].length; ++i) {
    run.has_open_pages |= pages_[i].is_open;
    pages_[i].is_open = false;
    pages_[i].first = static_cast<std::uint32_t>(first);
    pages_[i].owner.store(number, std::memory_order_release);
  }
  ++live_;
  return run;
}

ALLOCTAP_INLINE void GuardedPool::give_back(const void* address) noexcept {
  const std::lock_guard hold(lock_);
  const std::size_t first = pages_[page_of(address)].first;
  Queue& queue = free_[class_of(pages_[first].length)];
  pages_[first].next = kNoPage;
  (queue.newest == kNoPage ? queue.oldest : pages_[queue.newest].next) =
      static_cast<std::uint32_t>(first);
  queue.newest = static_cast<std::uint32_t>(first);
  ++queue.size;
  --live_;
}

ALLOCTAP_INLINE std::array<GuardedPool::Number, 2> GuardedPool::neighbours(
    const void* address) const noexcept {
  const std::size_t page = page_of(address);
  const bool is_used = pages_[page].owner.load(std::memory_order_acquire) != kNone;
  const std::size_t first = is_used ? pages_[page].first.load() : page;
  const std::size_t behind = is_used ? first + pages_[first].length : page + 1;
  return {owner_of(first - 1), owner_of(behind)};
}

ALLOCTAP_INLINE bool GuardedPool::open_page(const void* address) noexcept {
  const std::size_t page = page_of(address);
  pages_[page].is_open = true;
  return space_.open(at(page), page_bytes_);
}

ALLOCTAP_INLINE std::size_t GuardedPool::take_pages(std::size_t size_class) noexcept {
  const std::size_t length = pages_in(size_class);
  Fresh& fresh = size_class <= kExact ? small_ : large_;
  const bool has_enough = free_[size_class].size > most_waiting_;
  if (!has_enough && fresh.end - fresh.next >= length) {
    const std::size_t first = fresh.next;
    fresh.next += length;
    prepare(fresh);
    pages_[first].length = static_cast<std::uint32_t>(length);
    return first;
  }
  for (std::size_t i = size_class; i < kClasses; ++i) {
    if (free_[i].size > 0) return pop(free_[i]);
  }
  return kNoPage;
}

ALLOCTAP_INLINE void GuardedPool::prepare(Fresh& fresh) noexcept {
  if (fresh.next <= fresh.prepared) return;
  const std::size_t begin = fresh.prepared;
  fresh.prepared = std::min(std::max(fresh.next, begin + kPreparedBytes / page_bytes_), fresh.end);
  space_.prepare(at(begin), (fresh.prepared - begin) * page_bytes_);
}

ALLOCTAP_INLINE std::size_t GuardedPool::pop(Queue& queue) noexcept {
  const std::uint32_t first = queue.oldest;
  queue.oldest = pages_[first].next;
  if (queue.oldest == kNoPage) queue.newest = kNoPage;
  --queue.size;
  return first;
}

ALLOCTAP_INLINE void GuardedPool::make(const Limits& limits) noexcept {
  is_made_ = true;
  page_bytes_ = os::page_size();
  std::size_t bytes = limits.bytes / page_bytes_ * page_bytes_;
  while (bytes >= kLeastBytes && !space_.reserve(bytes)) {
    bytes = bytes / 2 / page_bytes_ * page_bytes_;
  }
  if (space_.begin() == nullptr) return;
  const std::size_t count = bytes / page_bytes_;
  void* const table = Arena::allocate_pages(count * sizeof(Page));
  if (table == nullptr) return space_.unreserve();
  pages_ = static_cast<Page*>(table);
  limits_ = limits;
  most_waiting_ = limits.runs / 4;
  small_ = {.next = 1, .end = count / 4, .prepared = 1};
  large_ = {.next = count / 4, .end = count, .prepared = count / 4};
  // Excludes the pool from the roots of the leak scan, because the scan visits live blocks itself.
  ArenaRegions::add(space_.begin(), bytes);
  begin_.store(address_of(space_.begin()), std::memory_order_relaxed);
  bytes_.store(bytes, std::memory_order_release);
}

}  // namespace alloctap
