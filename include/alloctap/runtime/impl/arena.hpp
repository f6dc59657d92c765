/// The bodies of runtime/arena.hpp.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>

#include "alloctap/macros.hpp"
#include "alloctap/os/virtual_memory.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/runtime/arena_regions.hpp"
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

}  // namespace alloctap
