/// The tracker's internal allocator, from which all dynamic memory of the tracker comes.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "alloctap/os/virtual_memory.hpp"
#include "alloctap/runtime/futex_lock.hpp"

namespace alloctap {

/// A process-wide allocator on top of mmap: power-of-two blocks up to 64 KiB, whole pages beyond.
///
/// All trackers share it. Never calls the program's allocator. Freed blocks go to a free list of
/// their size class; freed whole pages are unmapped. Thread-safe; may run inside malloc, and
/// between fork and exec. Never throws. Returns nullptr if out of memory; callers count the lost
/// data.
class Arena {
 public:
  static constexpr std::size_t kChunkBytes = 1024 * 1024;
  static constexpr std::size_t kSmallestBlock = 16;
  static constexpr std::size_t kLargestBlock = 64 * 1024;
  static constexpr std::size_t kHugePage = 2 * 1024 * 1024;
  /// Minimum size, in huge pages, of a block that uses huge pages. Smaller blocks cause few TLB
  /// misses on small pages. A virtual machine whose host reclaims free memory faults in each huge
  /// page again, which costs far more than small pages.
  static constexpr std::size_t kFewestHugePages = 8;

  /// Returns at least `bytes` bytes, aligned to 16. `bytes` is not 0; a power of two up to the page
  /// size is also the alignment. Reused blocks have arbitrary contents; whole pages are zeroed.
  [[nodiscard]] static void* allocate(std::size_t bytes) noexcept {
    return bytes > kLargestBlock ? map(bytes) : allocate_block(class_of(bytes));
  }

  /// Like `allocate`, for memory that will be touched completely. Large blocks use huge pages if
  /// the system has them, except for a tail smaller than a huge page.
  [[nodiscard]] static void* allocate_dense(std::size_t bytes) noexcept;

  /// Like `allocate_dense`, but zeroed at any size.
  [[nodiscard]] static void* allocate_dense_zeroed(std::size_t bytes) noexcept;

  /// Like `allocate_dense_zeroed`, but prefaults the pages, because accesses to a hash table are
  /// spread over all pages of the table from the start.
  [[nodiscard]] static void* allocate_table(std::size_t bytes) noexcept;

  /// Frees a block that one of the functions above returned for a request of `bytes` bytes.
  static void deallocate(void* address, std::size_t bytes) noexcept;

  /// Like `allocate`, but always whole zeroed pages, to be freed by `deallocate_pages`.
  [[nodiscard]] static void* allocate_pages(std::size_t bytes) noexcept { return map(bytes); }

  /// Like `allocate_pages`, aligned to `alignment`, a power of two greater than the page size.
  [[nodiscard]] static void* allocate_aligned_pages(std::size_t bytes,
                                                    std::size_t alignment) noexcept;

  /// Unmaps pages that one of the two functions above returned for a request of `bytes` bytes.
  static void deallocate_pages(void* address, std::size_t bytes) noexcept { unmap(address, bytes); }

  /// Returns the number of mapped bytes. Fewer bytes are resident: some pages were never touched.
  [[nodiscard]] static std::size_t mapped_bytes() noexcept {
    return mapped_bytes_.load(std::memory_order_relaxed);
  }

  /// Returns the arena's lock, which is held around fork so that the child's copy is consistent.
  [[nodiscard]] static FutexLock& lock() noexcept { return lock_; }

 private:
  struct FreeBlock {
    FreeBlock* next;
  };

  static constexpr std::size_t kClasses = std::countr_zero(kLargestBlock) + 1;

  static constexpr std::size_t class_of(std::size_t bytes) noexcept {
    const std::size_t rounded = std::bit_ceil(bytes < kSmallestBlock ? kSmallestBlock : bytes);
    return static_cast<std::size_t>(std::countr_zero(rounded));
  }

  static std::size_t whole_pages(std::size_t bytes) noexcept {
    const std::size_t page = os::page_size();
    return (bytes + page - 1) & ~(page - 1);
  }

  /// The kernel may reuse a page that one thread unmapped for a mapping of another thread. An
  /// acquire in `map` and a release in `unmap` show race detectors this order. Both functions hold
  /// a `ReentrancyGuard`, so that hooked page functions do not report the tracker's pages.
  static void* map(std::size_t bytes) noexcept;

  static void unmap(void* address, std::size_t bytes) noexcept;

  static void* allocate_block(std::size_t size_class) noexcept;

  /// Bump-allocates a block from the current chunk, aligned to the block's size. Alignment gaps and
  /// the end of a chunk are never touched and cost only address space.
  static void* carve(std::size_t bytes) noexcept;

  static inline constinit FutexLock lock_;
  static inline constinit std::array<FreeBlock*, kClasses> free_blocks_{};
  static inline constinit std::uintptr_t chunk_next_ = 0;
  static inline constinit std::uintptr_t chunk_end_ = 0;
  static inline constinit std::atomic<std::size_t> mapped_bytes_{0};
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/runtime/impl/arena.hpp"
#endif
