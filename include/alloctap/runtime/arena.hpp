/// The tracker's allocators: the arena, a table of its mappings, and a static bootstrap arena.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <span>

#include "alloctap/os/virtual_memory.hpp"
#include "alloctap/runtime/futex_lock.hpp"
#include "alloctap/runtime/static_objects.hpp"

namespace alloctap {

/// A process-wide allocator on top of mmap: power-of-two blocks up to 64 KiB, whole pages beyond.
///
/// All dynamic memory of all trackers comes from this arena. Never calls the program's allocator.
/// Freed blocks go to a free list of their size class; freed whole pages are unmapped. Thread-safe;
/// may run inside malloc, and between fork and exec. Never throws. Returns nullptr if out of
/// memory; callers count the lost data.
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

  /// Returns `bytes` (not 0) or more bytes, aligned to 16, or to `bytes` if that is a power of two
  /// up to the page size. Reused blocks have arbitrary contents; whole pages are zeroed.
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

  /// Returns whole zeroed pages for `bytes` bytes. Free them with `deallocate_pages`.
  [[nodiscard]] static void* allocate_pages(std::size_t bytes) noexcept { return map(bytes); }

  /// Like `allocate_pages`, aligned to `alignment`, a power of two greater than the page size.
  [[nodiscard]] static void* allocate_aligned_pages(std::size_t bytes,
                                                    std::size_t alignment) noexcept;

  /// Unmaps pages of `allocate_pages` or `allocate_aligned_pages` for a request of `bytes` bytes.
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

  /// The kernel may map a page in one thread after another thread unmapped it. An acquire in `map`
  /// and a release in `unmap` tell race detectors that the unmapping came first. Both functions
  /// hold a `ReentrancyGuard`, so that hooked page functions do not report the tracker's pages.
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

/// A bump allocator in a static buffer; its memory is never reused.
///
/// Serves dlsym while hooks resolve the original functions, and the tracker while the program's
/// allocator may be locked (`UseInternalArena`). Hooks check each freed pointer with `owns`, so any
/// code may free blocks of the buffer. Thread-safe; runs inside malloc.
class BootstrapArena {
 public:
  static constexpr std::size_t kBytes = 256 * 1024;
  static constexpr std::size_t kAlignment = 16;

  /// Returns `bytes` zeroed bytes, aligned to `alignment` (a power of two); nullptr if exhausted.
  [[nodiscard]] static void* allocate(std::size_t bytes,
                                      std::size_t alignment = kAlignment) noexcept {
    if (bytes > kBytes || alignment > kBytes) return nullptr;
    const std::size_t padding = alignment > kAlignment ? alignment : 0;
    const std::size_t whole = sizeof(Header) + padding + round_up(bytes, kAlignment);
    std::size_t offset = used_.load(std::memory_order_relaxed);
    do {
      if (kBytes - offset < whole) return nullptr;
    } while (!used_.compare_exchange_weak(offset, offset + whole, std::memory_order_relaxed));
    const auto base = reinterpret_cast<std::uintptr_t>(buffer_.data()) + offset + sizeof(Header);
    const std::uintptr_t address = round_up(base, alignment < kAlignment ? kAlignment : alignment);
    reinterpret_cast<Header*>(address)[-1].bytes = bytes;
    return reinterpret_cast<void*>(address);
  }

  /// Returns whether `pointer` lies in the buffer, by one comparison, cheap enough for every free.
  [[nodiscard]] static bool owns(const void* pointer) noexcept {
    return reinterpret_cast<std::uintptr_t>(pointer) -
               reinterpret_cast<std::uintptr_t>(buffer_.data()) <
           kBytes;
  }

  [[nodiscard]] static std::span<const std::byte> extent() noexcept { return buffer_; }

  /// Returns the requested size of a block. Precondition: `owns(pointer)`.
  [[nodiscard]] static std::size_t size_of(const void* pointer) noexcept {
    return static_cast<const Header*>(pointer)[-1].bytes;
  }

 private:
  struct alignas(kAlignment) Header {
    std::size_t bytes;
  };

  static constexpr std::size_t round_up(std::size_t value, std::size_t alignment) noexcept {
    return (value + alignment - 1) & ~(alignment - 1);
  }

  alignas(4096) static inline constinit std::array<std::byte, kBytes> buffer_{};
  static inline constinit std::atomic<std::size_t> used_{0};
};

/// A sorted table of the arena's mappings, to distinguish the tracker's memory from the program's.
/// Adjacent ranges are merged. The table stays short, because kernels place mappings side by side.
///
/// Thread-safe; runs inside malloc. Constant-initialized, never destroyed.
class ArenaRegions {
 public:
  /// The addresses `[start, end)`.
  struct Region {
    std::uintptr_t start;
    std::uintptr_t end;
  };

  static constexpr std::size_t kMaxCount = 16 * 1024;

  static void add(const void* address, std::size_t bytes) noexcept;

  /// Removes a range, which may be part of an added range.
  static void remove(const void* address, std::size_t bytes) noexcept;

  /// Calls `visit(const Region&)` by ascending address. `visit` may use the arena: a range that
  /// grows may then be visited twice, and a range added below the current position is not visited.
  template <class Visit>
  static void for_each(Visit&& visit) {
    Region region{0, 0};
    while (find_ending_behind(region.end, region)) visit(region);
  }

  /// Returns whether the table lists all ranges; false once the table has overflowed.
  [[nodiscard]] static bool complete() noexcept {
    const std::lock_guard hold(lock_);
    return complete_;
  }

  /// Returns the lock of the table, which is held around fork.
  [[nodiscard]] static FutexLock& lock() noexcept { return lock_; }

 private:
  static bool find_ending_behind(std::uintptr_t address, Region& region) noexcept;

  /// Returns the index of the first range that ends above `address`.
  static std::size_t first_ending_behind(std::uintptr_t address) noexcept;

  static void insert(Region added) noexcept;

  static void erase(std::size_t at) noexcept {
    --count_;
    std::memmove(&regions_[at], &regions_[at + 1], (count_ - at) * sizeof(Region));
  }

  static inline constinit FutexLock lock_;
  static inline constinit ZeroedArray<Region, kMaxCount + 1> regions_;
  static inline constinit std::size_t count_ = 0;
  static inline constinit bool complete_ = true;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/runtime/impl/arena.hpp"
#endif
