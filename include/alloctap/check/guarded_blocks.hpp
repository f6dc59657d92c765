/// Blocks beside guard pages: their choice, their rate and their page allocator.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "alloctap/check/block_layout.hpp"
#include "alloctap/check/check_settings.hpp"
#include "alloctap/check/checked_block.hpp"
#include "alloctap/event/block_checks.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/clock.hpp"
#include "alloctap/os/memory_protection.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/runtime/futex_lock.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

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
    /// Number of all pages, among them guard pages and pages that the caller did not request.
    std::size_t pages = 0;
    /// Number of the block that last used the pages; `kNone` if they were never used.
    Number before = kNone;
    /// Whether `open_page` left pages of the run accessible.
    bool has_open_pages = false;
  };

  constexpr GuardedPool() noexcept = default;
  GuardedPool(const GuardedPool&) = delete;
  GuardedPool& operator=(const GuardedPool&) = delete;

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

  /// Makes the pages inaccessible that `open_page` left accessible in a run. Returns false if the
  /// system refuses; the next user of the run then finds them accessible.
  [[nodiscard]] bool close_open_pages(const Run& run) noexcept;

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
  /// Number of free runs of a class above which `take` reuses them although unused pages remain.
  std::size_t most_waiting_ = 0;
  Fresh small_;
  Fresh large_;
  std::array<Queue, kClasses> free_{};
};

/// Bounds the cost of guard pages: a program that makes more than 500,000 allocations per second
/// gets no more guard pages than at that rate. Unused budget accumulates for 250 ms, or for 64
/// blocks if that takes longer. A process starts with a full budget, so that short programs are
/// sampled too.
///
/// Implements the generic cell rate algorithm (ITU-T I.371, Annex A), which stores the earliest
/// time of the next block at an even rate. Lock-free; runs inside malloc. Constant-initialized.
class GuardBudget {
 public:
  constexpr GuardBudget() noexcept = default;

  /// Takes the budget for one block. `one_in` is the sampling rate; a rate of 1 always succeeds.
  /// Returns false if the budget is exhausted. `now_ns` is monotonic time with any epoch.
  [[nodiscard]] bool take(std::uint32_t one_in, std::int64_t now_ns) noexcept {
    if (one_in <= 1) return true;
    const std::int64_t apart = std::int64_t{one_in} * kNsPerAllocation;
    const std::int64_t oldest = now_ns - std::max(kMadeUpNs, apart * kLeastAtOnce);
    std::uint64_t next = next_.load(std::memory_order_relaxed);
    std::int64_t taken = 0;
    do {
      taken = std::max(time_of(next), oldest);
      if (taken > now_ns) {
        refused_.fetch_add(1, std::memory_order_relaxed);
        return false;
      }
    } while (!next_.compare_exchange_weak(next, from_earliest(taken + apart),
                                          std::memory_order_relaxed));
    return true;
  }

  /// Returns how often `take` returned false.
  [[nodiscard]] std::uint64_t refused() const noexcept {
    return refused_.load(std::memory_order_relaxed);
  }

 private:
  static constexpr std::int64_t kNsPerAllocation = 2000;
  static constexpr std::int64_t kMadeUpNs = 250'000'000;
  static constexpr std::int64_t kLeastAtOnce = 64;

  static std::uint64_t from_earliest(std::int64_t time_ns) noexcept {
    return static_cast<std::uint64_t>(time_ns) - static_cast<std::uint64_t>(INT64_MIN);
  }
  static std::int64_t time_of(std::uint64_t from_earliest_ns) noexcept {
    return static_cast<std::int64_t>(from_earliest_ns + static_cast<std::uint64_t>(INT64_MIN));
  }

  /// Earliest time of the next block, as nanoseconds since INT64_MIN. Its initial value is 0, so
  /// that a static budget lies in .bss.
  std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint64_t> refused_{0};
};

/// Chooses the blocks that get a guard page, by a per-thread countdown as in GWP-ASan. The distance
/// between samples is random, up to twice the mean. Periodic allocation patterns therefore do not
/// hide blocks. Runs inside malloc. An unsampled block costs one subtraction.
class GuardSampler {
 public:
  /// Fast path: counts the calling thread's next block. Returns true if no check applies to the
  /// block. If false, call `is_due`.
  ALLOCTAP_ALWAYS_INLINE static bool passes_over() noexcept {
    std::int32_t& left = this_thread_slot().until_guarded;
    if (left <= 1) return false;
    --left;
    return true;
  }

  /// Returns whether the calling thread's next block is sampled, at a rate of one in `one_in`; 0
  /// means never. Pass true as `asks_each` if other checks apply to every block, so that
  /// `passes_over` always returns false.
  static bool is_due(std::uint32_t one_in, bool asks_each) noexcept {
    if (one_in <= 1) return one_in == 1;
    std::int32_t& left = this_thread_slot().until_guarded;
    if (left > 1 || left < -1) {
      left += left > 0 ? -1 : 1;
      return false;
    }
    const bool is_first = left == 0;
    left = draw(one_in);
    if (asks_each) left = -left;
    return !is_first;
  }

  static bool is_due(const CheckSettings& settings) noexcept {
    return is_due(settings.guard_pages, settings.touches_all());
  }

  /// Returns a random number that differs between calls and runs. Thread-safe.
  [[nodiscard]] static std::uint64_t random() noexcept {
    // SplitMix64 (Steele, Lea, Flood 2014).
    constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15;
    const auto now = static_cast<std::uint64_t>(os::coarse_monotonic_ns());
    std::uint64_t mixed = state_.fetch_add(kStep, std::memory_order_relaxed) ^ now;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
    return mixed ^ (mixed >> 31);
  }

 private:
  ALLOCTAP_NOINLINE static std::int32_t draw(std::uint32_t one_in) noexcept {
    const std::uint64_t most = std::uint64_t{std::min(one_in, kMaxCount)} * 2 - 1;
    return static_cast<std::int32_t>(1 + random() % most);
  }

  static constexpr std::uint32_t kMaxCount = std::uint32_t{1} << 30;
  static inline constinit std::atomic<std::uint64_t> state_{0x243F6A8885A308D3};
};

/// Places blocks in the pages of a `GuardedPool` and maps addresses to blocks. The records of the
/// blocks are in a `BlockPool`. Thread-safe; runs inside malloc. `contains`, `at` and `nearest` may
/// run in a signal handler. Constant-initialized, never destroyed.
class GuardedBlocks {
 public:
  using Number = BlockPool::Number;

  constexpr GuardedBlocks() noexcept = default;

  [[nodiscard]] bool contains(const void* address) const noexcept {
    return pool_.contains(address);
  }

  [[nodiscard]] GuardPageStats account(const CheckSettings& settings) const noexcept;

  /// Plans a block beside a guard page and stores its address and red zones in its record. The
  /// result has a null `place` if the pool or the budget is exhausted.
  [[nodiscard]] BlockPlan place(const CheckSettings& settings, const AllocationRequest& wanted,
                                BlockPool& records, std::uint32_t hint) noexcept;

  /// Completes the record of a placed block, fills the block, and marks it live. Returns its
  /// address.
  static void* adopt(const CheckSettings& settings, CheckedBlock& block,
                     const AllocationRequest& wanted, const BlockCall& call) noexcept;

  /// Makes a freed block inaccessible and queues its pages for reuse.
  void retire(const CheckedBlock& block) noexcept;

  /// Returns the live or freed block that begins at `address`, or `kNone`. Precondition:
  /// `contains(address)`.
  [[nodiscard]] Number at(const void* address, BlockPool& records) noexcept;

  /// Returns the block that contains `address`, otherwise the nearer of the adjacent blocks.
  /// Returns `kNone` if no block is adjacent. Precondition: `contains(address)`.
  [[nodiscard]] Number nearest(const void* address, BlockPool& records) noexcept;

  /// Makes the page of `address` accessible until reuse. Returns false if the system refuses.
  [[nodiscard]] bool open_page(const void* address) noexcept { return pool_.open_page(address); }

 private:
  static constexpr Number kNone = BlockPool::kNone;
  /// The minimum alignment of all blocks, as in malloc.
  static constexpr std::size_t kGranule = 16;
  /// Maximum size of a red zone beside a block, except alignment padding behind the block. The free
  /// verifies red zones.
  static constexpr std::size_t kFront = 32;
  static constexpr std::size_t kLargest = std::size_t{1} << 40;
  static constexpr std::size_t kMegabyte = std::size_t{1} << 20;

  static GuardedPool::Limits limits(const CheckSettings& settings) noexcept;

  /// Returns false for a size or alignment that only the allocator may refuse.
  static bool is_placeable(const AllocationRequest& wanted) noexcept;

  BlockPlan try_place(const CheckSettings& settings, const AllocationRequest& wanted,
                      BlockPool& records, std::uint32_t hint) noexcept;

  static bool is_left(PageEdge edge) noexcept {
    if (edge == PageEdge::kRandom) return (GuardSampler::random() & 1) != 0;
    return edge == PageEdge::kLeft;
  }

  /// Returns the limits of the pool. Queries the system only before the pool is created.
  GuardedPool::Limits limits_of(const CheckSettings& settings) noexcept {
    return pool_.is_made() ? GuardedPool::Limits{} : limits(settings);
  }

  /// Sets the block's address and red zones. At `PageEdge::kRight`, the block ends at the page
  /// boundary, or as near as its alignment permits.
  static void lay_out(CheckedBlock& block, std::size_t size, std::size_t alignment,
                      std::byte* pages, bool at_left) noexcept;

  /// Makes a freed block's pages accessible again if the program protected them. Returns false if
  /// the system refuses or the program replaced the pages; the pages must then not be reused.
  static bool take_back(const CheckedBlock& block) noexcept;

  static std::byte* first_page(const CheckedBlock& block) noexcept {
    const std::size_t page = os::page_size();
    return block.begin() - reinterpret_cast<std::uintptr_t>(block.begin()) % page;
  }

  /// Returns the size of the pages that are accessible while the block lives; 0 if it is empty.
  static std::size_t open_bytes(const CheckedBlock& block) noexcept {
    const std::size_t page = os::page_size();
    return (block.size + page - 1) / page * page;
  }

  /// Returns the bytes between `address` and the block, or 0 if the block contains `address`.
  static std::uint64_t distance(const void* address, const CheckedBlock& block) noexcept;

  GuardedPool pool_;
  GuardBudget budget_;
  std::atomic<std::uint64_t> placed_{0};
  std::atomic<std::uint64_t> fell_back_{0};
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/check/impl/guarded_blocks.hpp"
#endif
