/// A page allocator whose allocations are separated by guard pages.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "alloctap/check/block_pool.hpp"
#include "alloctap/os/reserved_pages.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/runtime/futex_lock.hpp"

namespace alloctap {

static_assert(os::PageReserve<os::ReservedPages>);

/// Allocates runs: contiguous inaccessible pages, each run followed by two guard pages. Reuses the
/// oldest free run (FIFO) once many runs of its length are free, or once the pool has no unused
/// pages. A longer free run may serve a shorter request.
///
/// Each page stores the number (`BlockPool`) of the last block that used it. An address therefore
/// maps to a block without a search. Thread-safe; runs inside malloc. `owner` and `contains` are
/// lock-free and may run in a signal handler. Constant-initialized, never destroyed.
class GuardedPool {
 public:
  using Number = BlockPool::Number;
  static constexpr Number kNone = BlockPool::kNone;
  /// Guard pages behind each block.
  static constexpr std::size_t kGuards = 2;

  /// Bounds on the use of system resources.
  struct Limits {
    /// Bytes of address space. The first quarter is for runs of at most `kExact` pages.
    std::size_t bytes = 0;
    /// Maximum number of allocated runs if the system needs no memory mapping for each run.
    std::size_t runs = 0;
    /// Maximum number of allocated runs if each accessible run needs its own memory mapping.
    std::size_t split_runs = 0;
  };

  struct Run {
    /// Address of the first page, or nullptr if the pool is full.
    std::byte* begin = nullptr;
    /// Number of the block that last used the pages; `kNone` if they were never used.
    Number before = kNone;
    /// Whether `open_page` left pages of the run accessible.
    bool has_open_pages = false;
  };

  constexpr GuardedPool() noexcept = default;
  GuardedPool(const GuardedPool&) = delete;
  GuardedPool& operator=(const GuardedPool&) = delete;

  /// Returns whether `address` lies in the pool.
  [[nodiscard]] bool contains(const void* address) const noexcept {
    const std::size_t bytes = bytes_.load(std::memory_order_acquire);
    return address_of(address) - begin_.load(std::memory_order_relaxed) < bytes;
  }

  /// Allocates `pages` pages plus guard pages for block `number`. The first call creates the pool.
  [[nodiscard]] Run take(std::size_t pages, Number number, const Limits& limits) noexcept;

  /// Frees the run that contains `address`. The run's pages keep their owner until reuse.
  void give_back(const void* address) noexcept;

  /// Returns the block that last used the page of `address`. Precondition: `contains(address)`.
  [[nodiscard]] Number owner(const void* address) const noexcept {
    return pages_[page_of(address)].owner.load(std::memory_order_acquire);
  }

  /// Returns the owners of the page before and the page behind the run that contains `address`.
  /// Either owner may be `kNone`. Precondition: `contains(address)`.
  [[nodiscard]] std::array<Number, 2> neighbours(const void* address) const noexcept;

  /// `open` and `close` make pages accessible or inaccessible, as `os::ReservedPages` does.
  /// `address` and `bytes` must be multiples of the page size. Neither function takes a lock.
  [[nodiscard]] bool open(std::byte* address, std::size_t bytes) noexcept {
    return space_.open(address, bytes);
  }
  [[nodiscard]] bool close(std::byte* address, std::size_t bytes) noexcept {
    return space_.close(address, bytes);
  }

  /// Makes the page of `address` accessible until the run of the page is reused. Returns false if
  /// the system refuses. May run in a signal handler.
  [[nodiscard]] bool open_page(const void* address) noexcept;

  /// Returns whether the first `take` has run. Later calls of `take` ignore `limits`.
  [[nodiscard]] bool is_made() const noexcept { return is_made_.load(std::memory_order_relaxed); }

 private:
  struct Page {
    std::atomic<Number> owner;
    /// Index of the first page of the run that contains this page.
    std::atomic<std::uint32_t> first;
    /// Length of the run in pages, and the next free run. Valid only in a run's first page.
    std::atomic<std::uint32_t> length;
    std::uint32_t next;
    /// Whether `open_page` made the page accessible.
    std::atomic<bool> is_open;
  };
  /// Index that means no page. Page 0 lies before the first run and belongs to no run.
  static constexpr std::uint32_t kNoPage = 0;

  /// A FIFO of free runs of one size class.
  struct Queue {
    std::uint32_t oldest = kNoPage;
    std::uint32_t newest = kNoPage;
    std::size_t size = 0;
  };

  /// The pages that were never used are `[next, end)`.
  struct Fresh {
    std::size_t next = 0;
    std::size_t end = 0;
    /// End of the pages for which `os::ReservedPages::prepare` was called.
    std::size_t prepared = 0;
  };

  /// There is a size class for each length up to `kExact` pages, then for each power of two.
  static constexpr std::size_t kExact = 32;
  static constexpr std::size_t kClasses = kExact + 1 + 16;
  static constexpr std::size_t kLeastBytes = std::size_t{1} << 20;
  /// Bytes that each call of `os::ReservedPages::prepare` prepares, enough for about eighty blocks.
  static constexpr std::size_t kPreparedBytes = std::size_t{1} << 20;

  static std::size_t class_of(std::size_t pages) noexcept {
    if (pages <= kExact) return pages;
    return kExact + static_cast<std::size_t>(std::bit_width((pages - 1) / kExact));
  }
  static std::size_t pages_in(std::size_t size_class) noexcept {
    return size_class <= kExact ? size_class : kExact << (size_class - kExact);
  }

  static std::uintptr_t address_of(const void* address) noexcept {
    return reinterpret_cast<std::uintptr_t>(address);
  }
  [[nodiscard]] std::size_t page_of(const void* address) const noexcept {
    return (address_of(address) - begin_.load(std::memory_order_relaxed)) / page_bytes_;
  }
  [[nodiscard]] std::byte* at(std::size_t page) const noexcept {
    return reinterpret_cast<std::byte*>(begin_.load(std::memory_order_relaxed)) +
           page * page_bytes_;
  }
  [[nodiscard]] Number owner_of(std::size_t page) const noexcept {
    const std::size_t count = bytes_.load(std::memory_order_relaxed) / page_bytes_;
    return page < count ? pages_[page].owner.load(std::memory_order_acquire) : kNone;
  }

  /// Returns the first page of an unused run. Once many runs of this class are free, or no unused
  /// pages remain, returns the oldest free run of this class or a larger one.
  std::size_t take_pages(std::size_t size_class) noexcept;

  void prepare(Fresh& fresh) noexcept;

  std::size_t pop(Queue& queue) noexcept;

  /// Reserves address space, halving the size until the system permits it. Page 0 stays
  /// inaccessible, so that the first run has a guard page in front.
  void make(const Limits& limits) noexcept;

  [[nodiscard]] std::size_t most_live() const noexcept {
    return space_.splits_ranges() ? limits_.split_runs : limits_.runs;
  }

  os::ReservedPages space_;
  std::atomic<std::uintptr_t> begin_{0};
  std::atomic<std::size_t> bytes_{0};
  Page* pages_ = nullptr;
  std::size_t page_bytes_ = 0;
  FutexLock lock_;
  std::atomic<bool> is_made_{false};
  std::size_t live_ = 0;
  Limits limits_;
  /// Maximum number of free runs of one class that wait while unused pages are used first.
  std::size_t most_waiting_ = 0;
  Fresh small_;
  Fresh large_;
  std::array<Queue, kClasses> free_{};
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/check/impl/guarded_pool.hpp"
#endif
