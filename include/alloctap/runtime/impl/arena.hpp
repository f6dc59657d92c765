/// Definitions for runtime/arena.hpp.
#pragma once

#include "alloctap/macros.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap {

ALLOCTAP_NOINLINE ALLOCTAP_INLINE void* Arena::allocate_dense(std::size_t bytes) noexcept {
  const std::size_t in_huge_pages = bytes / kHugePage * kHugePage;
  if (in_huge_pages < kFewestHugePages * kHugePage) return allocate(bytes);
  void* pages = allocate_aligned_pages(bytes, kHugePage);
  if (pages != nullptr) os::use_huge_pages(pages, in_huge_pages, true);
  return pages;
}

ALLOCTAP_NOINLINE ALLOCTAP_INLINE void* Arena::allocate_dense_zeroed(std::size_t bytes) noexcept {
  void* memory = allocate_dense(bytes);
  if (memory != nullptr && bytes <= kLargestBlock) std::memset(memory, 0, bytes);
  return memory;
}

ALLOCTAP_INLINE void* Arena::allocate_table(std::size_t bytes) noexcept {
  void* memory = allocate_dense_zeroed(bytes);
  if (memory != nullptr && bytes > kLargestBlock) os::bring_in_pages(memory, whole_pages(bytes));
  return memory;
}

ALLOCTAP_NOINLINE ALLOCTAP_INLINE void Arena::deallocate(void* address,
                                                         std::size_t bytes) noexcept {
  if (bytes > kLargestBlock) return unmap(address, bytes);
  const std::size_t size_class = class_of(bytes);
  const std::lock_guard hold(lock_);
  free_blocks_[size_class] = ::new (address) FreeBlock{free_blocks_[size_class]};
}

ALLOCTAP_NOINLINE ALLOCTAP_INLINE void* Arena::allocate_aligned_pages(
    std::size_t bytes, std::size_t alignment) noexcept {
  const std::size_t wanted = whole_pages(bytes);
  auto* const pages = static_cast<std::byte*>(map(wanted + alignment));
  if (pages == nullptr) return nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(pages);
  const std::size_t before = (alignment - address % alignment) % alignment;
  if (before > 0) unmap(pages, before);
  unmap(pages + before + wanted, alignment - before);
  return pages + before;
}

ALLOCTAP_NOINLINE ALLOCTAP_INLINE void* Arena::map(std::size_t bytes) noexcept {
  const ReentrancyGuard guard;
  void* pages = os::map_pages(whole_pages(bytes));
  if (pages == nullptr) return nullptr;
  mapped_bytes_.fetch_add(whole_pages(bytes), std::memory_order_acquire);
  ArenaRegions::add(pages, whole_pages(bytes));
  return pages;
}

ALLOCTAP_NOINLINE ALLOCTAP_INLINE void Arena::unmap(void* address, std::size_t bytes) noexcept {
  const ReentrancyGuard guard;
  // Removes the range first, because after `unmap` another thread may map the addresses.
  ArenaRegions::remove(address, whole_pages(bytes));
  mapped_bytes_.fetch_sub(whole_pages(bytes), std::memory_order_release);
  os::unmap_pages(address, whole_pages(bytes));
}

ALLOCTAP_NOINLINE ALLOCTAP_INLINE void* Arena::allocate_block(std::size_t size_class) noexcept {
  const std::lock_guard hold(lock_);
  if (FreeBlock* block = free_blocks_[size_class]; block != nullptr) {
    free_blocks_[size_class] = block->next;
    return block;
  }
  return carve(std::size_t{1} << size_class);
}

ALLOCTAP_INLINE void* Arena::carve(std::size_t bytes) noexcept {
  std::uintptr_t start = (chunk_next_ + bytes - 1) & ~(bytes - 1);
  if (start + bytes > chunk_end_) {
    void* chunk = map(kChunkBytes);
    if (chunk == nullptr) return nullptr;
    chunk_end_ = reinterpret_cast<std::uintptr_t>(chunk) + kChunkBytes;
    start = reinterpret_cast<std::uintptr_t>(chunk);
  }
  chunk_next_ = start + bytes;
  return reinterpret_cast<void*>(start);
}

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
