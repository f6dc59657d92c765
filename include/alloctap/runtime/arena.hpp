/// The only memory that the tracker uses.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "alloctap/os/virtual_memory.hpp"
#include "alloctap/runtime/futex_lock.hpp"

namespace alloctap {

/// Memory straight from the system: powers of two up to 64 KiB, whole pages beyond.
///
/// One per process, shared by all trackers; small blocks are kept for reuse, pages are given back.
/// Thread-safe; may run inside malloc and between fork and exec. Never throws: a null result means
/// that the system has no more, and the caller counts what it then loses.
class Arena {
 public:
  static constexpr std::size_t kChunkBytes = 1024 * 1024;
  static constexpr std::size_t kSmallestBlock = 16;
  static constexpr std::size_t kLargestBlock = 64 * 1024;
  static constexpr std::size_t kHugePage = 2 * 1024 * 1024;
  /// How many huge pages something has to fill to get any. Fewer save little: as small pages too
  /// they hardly miss the processor's table of pages. And where a virtual machine's host takes back
  /// what is free, it has to find each huge page again first, which costs far more than small ones,
  /// of which some are always at hand.
  static constexpr std::size_t kFewestHugePages = 8;

  /// At least `bytes` (not 0), aligned to 16 and, for a power of two up to a page, to its size. The
  /// content of a block that was used before is arbitrary; pages come zeroed.
  [[nodiscard]] static void* allocate(std::size_t bytes) noexcept {
    return bytes > kLargestBlock ? map(bytes) : allocate_block(class_of(bytes));
  }

  /// Like `allocate`, for what will be touched all over: if it is large, it comes in huge pages,
  /// where the system has them, but for the rest that would not fill one.
  [[nodiscard]] static void* allocate_dense(std::size_t bytes) noexcept;

  /// The same, zeroed whatever the size.
  [[nodiscard]] static void* allocate_dense_zeroed(std::size_t bytes) noexcept;

  /// The same, for a table that is looked at all over as soon as it is there: its pages are brought
  /// in at once.
  [[nodiscard]] static void* allocate_table(std::size_t bytes) noexcept;

  /// Takes back what `allocate(bytes)`, or one of the others, returned, with the same `bytes`.
  static void deallocate(void* address, std::size_t bytes) noexcept;

  /// Like `allocate`, but always whole pages, zeroed: for what grows and leaves nothing behind.
  [[nodiscard]] static void* allocate_pages(std::size_t bytes) noexcept { return map(bytes); }

  /// Like `allocate_pages`, at a multiple of `alignment`, a power of two above the size of a page.
  [[nodiscard]] static void* allocate_aligned_pages(std::size_t bytes,
                                                    std::size_t alignment) noexcept;

  /// Takes back what `allocate_pages(bytes)`, or the other, returned, with the same `bytes`.
  static void deallocate_pages(void* address, std::size_t bytes) noexcept { unmap(address, bytes); }

  /// Bytes that the arena holds of the system; what they cost in resident memory is less.
  [[nodiscard]] static std::size_t mapped_bytes() noexcept {
    return mapped_bytes_.load(std::memory_order_relaxed);
  }

  /// Held around fork, so that the child's copy is whole.
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

  /// The system hands pages from one thread to the next; acquire here and release in `unmap` tell
  /// race detectors, which do not see its part. Where the system's functions for pages are hooked,
  /// the guards keep the tracker's own out of reports.
  static void* map(std::size_t bytes) noexcept;

  static void unmap(void* address, std::size_t bytes) noexcept;

  static void* allocate_block(std::size_t size_class) noexcept;

  /// Cuts a block off the current chunk, at a multiple of its size. What alignment and the end of a
  /// chunk leave over is never touched, so it costs address space only.
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
