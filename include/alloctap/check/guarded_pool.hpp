/// Addresses of which some pages are blocks, and those around them inaccessible.
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

/// Hands out runs of pages, which nobody can access until they are opened; at the end of each are
/// two that stay so. A run that comes back is handed out again once many of its length have, or no
/// fresh addresses are left: the one first that came back first, for blocks that need as many pages
/// or fewer.
///
/// Each page knows the number of the block that it was given to last (`BlockPool`), so what belongs
/// to an address is known without a search. Thread-safe; runs inside malloc; `owner` and `contains`
/// take no lock and may run in a signal handler. Constant-initialized, never destroyed.
class GuardedPool {
 public:
  using Number = BlockPool::Number;
  static constexpr Number kNone = BlockPool::kNone;
  /// Pages behind each block that are never opened.
  static constexpr std::size_t kGuards = 2;

  /// How much of the system it may take.
  struct Limits {
    /// Of address space. A part of it is for small runs.
    std::size_t bytes = 0;
    /// Runs that are handed out at a time.
    std::size_t runs = 0;
    /// The same, where each open one is a range of its own for the system.
    std::size_t split_runs = 0;
  };

  struct Run {
    /// nullptr where there is none.
    std::byte* begin = nullptr;
    /// Whose it was before; `kNone` where it is fresh.
    Number before = kNone;
    /// Whether pages of it may be open that were not opened for its block.
    bool has_open_pages = false;
  };

  constexpr GuardedPool() noexcept = default;
  GuardedPool(const GuardedPool&) = delete;
  GuardedPool& operator=(const GuardedPool&) = delete;

  /// Whether `address` is of the pool.
  [[nodiscard]] bool contains(const void* address) const noexcept {
    const std::size_t bytes = bytes_.load(std::memory_order_acquire);
    return address_of(address) - begin_.load(std::memory_order_relaxed) < bytes;
  }

  /// A run of `pages` and the guards, for block `number`. The first call makes the pool.
  [[nodiscard]] Run take(std::size_t pages, Number number, const Limits& limits) noexcept;

  /// The run that `address` lies in is nobody's from now on; its pages still know whose it was.
  void give_back(const void* address) noexcept;

  /// Who has the page of `address`, or had it last. Precondition: `contains`.
  [[nodiscard]] Number owner(const void* address) const noexcept {
    return pages_[page_of(address)].owner.load(std::memory_order_acquire);
  }

  /// Whose the page is that lies before the run of `address`, and the one behind it; `kNone` where
  /// there is none. Precondition: `contains`.
  [[nodiscard]] std::array<Number, 2> neighbours(const void* address) const noexcept;

  /// Makes pages of a run that was taken accessible, and inaccessible again, as `os::ReservedPages`
  /// does: `address` and `bytes` are whole pages. Takes no lock.
  [[nodiscard]] bool open(std::byte* address, std::size_t bytes) noexcept {
    return space_.open(address, bytes);
  }
  [[nodiscard]] bool close(std::byte* address, std::size_t bytes) noexcept {
    return space_.close(address, bytes);
  }

  /// Opens the page of `address` for as long as its run belongs to the same block; false where the
  /// system refuses. May run in a signal handler.
  [[nodiscard]] bool open_page(const void* address) noexcept;

  /// Whether the first call of `take` was there, whose limits hold for ever.
  [[nodiscard]] bool is_made() const noexcept { return is_made_.load(std::memory_order_relaxed); }

 private:
  struct Page {
    std::atomic<Number> owner;
    /// The first one of its run.
    std::atomic<std::uint32_t> first;
    /// Of a first one: pages of the run, and the first of the run that came back after it.
    std::atomic<std::uint32_t> length;
    std::uint32_t next;
    /// Whether it was opened by `open_page`.
    std::atomic<bool> is_open;
  };
  /// The page in front of the first run.
  static constexpr std::uint32_t kNoPage = 0;

  /// Runs that came back, of one length.
  struct Queue {
    std::uint32_t oldest = kNoPage;
    std::uint32_t newest = kNoPage;
    std::size_t size = 0;
  };

  /// Pages that were never handed out: `[next, end)`.
  struct Fresh {
    std::size_t next = 0;
    std::size_t end = 0;
    /// Up to here they are prepared.
    std::size_t prepared = 0;
  };

  /// Lengths up to `kExact` have a class each, then each power of two.
  static constexpr std::size_t kExact = 32;
  static constexpr std::size_t kClasses = kExact + 1 + 16;
  static constexpr std::size_t kLeastBytes = std::size_t{1} << 20;
  /// Bytes that are prepared together: one more call for some eighty blocks.
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

  /// Fresh pages, unless many runs of that length wait; else the oldest of these, or a longer one.
  std::size_t take_pages(std::size_t size_class) noexcept;

  void prepare(Fresh& fresh) noexcept;

  std::size_t pop(Queue& queue) noexcept;

  /// As much as the system gives; the first page stays closed, in front of the first run.
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
  /// Runs of one length that wait while there are fresh ones.
  std::size_t most_waiting_ = 0;
  Fresh small_;
  Fresh large_;
  std::array<Queue, kClasses> free_{};
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/check/impl/guarded_pool.hpp"
#endif
