/// The record of a checked block, and the pool of records.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>

#include "alloctap/check/misuse.hpp"
#include "alloctap/event/allocation_event.hpp"
#include "alloctap/event/block_checks.hpp"
#include "alloctap/os/heap_handle.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/runtime/futex_lock.hpp"
#include "alloctap/runtime/shadow_memory.hpp"
#include "alloctap/runtime/static_objects.hpp"

namespace alloctap {

/// Fills a freed block, except for pages of a large block that are not resident. Keeps a bitmap of
/// the filled pages, so that a later write to any page is detected. Fills nothing if it has no
/// memory for the bitmap. The bitmap is freed by `release`, not by a destructor. Not thread-safe;
/// runs inside malloc.
class FilledParts {
 public:
  /// Fills the resident pages of `[begin, begin + bytes)`.
  void fill(std::byte* begin, std::size_t bytes, std::uint8_t byte) noexcept;

  /// Calls `visit(std::byte* begin, std::size_t bytes, std::uint8_t byte)` for each resident range.
  /// `byte` is the expected value of the bytes: the fill value, or 0 in pages that became resident
  /// after `fill`. Precondition: `begin` is the address that was passed to `fill`.
  template <class Visit>
  void for_each(std::byte* begin, Visit&& visit) const {
    if (bits_ == nullptr) return visit(begin, bytes_, byte_);
    visit_touched(begin, bytes_, [&](std::byte* part, std::size_t size) {
      while (size > 0) {
        const std::size_t run = run_at(begin, part, size);
        visit(part, run, has(page_in(begin, part)) ? byte_ : std::uint8_t{0});
        part += run;
        size -= run;
      }
    });
  }

  /// Frees the bitmap; no page counts as filled any more.
  void release() noexcept {
    release_bits();
    bytes_ = 0;
  }

 private:
  using Word = std::uint64_t;
  static constexpr std::size_t kBits = 64;

  static std::size_t page_in(const std::byte* begin, const std::byte* address) noexcept;

  [[nodiscard]] std::size_t bytes_of_bits() const noexcept {
    return (pages_ + kBits - 1) / kBits * sizeof(Word);
  }

  /// Returns the bytes from `part` on, at most `most`, whose pages are all filled or all unfilled.
  [[nodiscard]] std::size_t run_at(const std::byte* begin, const std::byte* part,
                                   std::size_t most) const noexcept;

  bool make_bits(const std::byte* begin) noexcept;

  void release_bits() noexcept {
    if (bits_ != nullptr) Arena::deallocate(bits_, bytes_of_bits());
    bits_ = nullptr;
  }

  void note(std::size_t first, std::size_t last) noexcept {
    for (std::size_t i = first; i <= last; ++i) bits_[i / kBits] |= Word{1} << (i % kBits);
  }
  [[nodiscard]] bool has(std::size_t page) const noexcept {
    return (bits_[page / kBits] >> (page % kBits) & 1) != 0;
  }

  std::size_t bytes_ = 0;
  std::size_t pages_ = 0;
  std::uint8_t byte_ = 0;
  Word* bits_ = nullptr;
};

/// The record of a checked block, in a `BlockPool`. Only the thread that allocates or frees the
/// block writes its record. Other threads read the record for reports. Readers may see a partial
/// update.
struct CheckedBlock {
  enum class State : std::uint8_t {
    /// The record describes no block, or a block that was not yet returned to the program.
    kUnused,
    kLive,
    /// Freed by the program.
    kFreed,
  };

  std::atomic<State> state{State::kUnused};
  /// Whether the block is freed and quarantined.
  std::atomic<bool> kept{false};
  AllocationKind kind = AllocationKind::kMalloc;
  DeallocationKind freed_by = DeallocationKind::kFree;
  /// log2 of the alignment; `kNoAlignment` if the call named no alignment.
  std::uint8_t alignment_exponent = kNoAlignment;
  /// Bytes between the allocator's pointer and the program's. The last `front_guard` of them are
  /// the left red zone.
  std::uint32_t front = 0;
  std::uint32_t front_guard = 0;
  std::uint32_t rear_guard = 0;
  /// The next free record in the `BlockPool`.
  std::uint32_t next = 0;
  /// Whether the block lies in a `GuardedPool` rather than in the allocator's heap.
  bool guarded = false;
  /// Requested bytes.
  std::uint64_t size = 0;
  BlockCall allocated;
  BlockCall gone;
  /// The last page change (mprotect, madvise, mmap) that may make the block inaccessible to checks.
  std::atomic<PageChange> pages{PageChange::kNone};
  /// Which pages were filled when the block was quarantined.
  FilledParts filled;
  [[no_unique_address]] os::HeapHandle heap{};

  static constexpr std::uint8_t kNoAlignment = 0xFF;

  /// Stores the alignment, rounded up to a power of two as allocators do.
  void set_alignment(std::size_t alignment) noexcept {
    alignment_exponent =
        alignment == 0 ? kNoAlignment
                       : static_cast<std::uint8_t>(std::countr_zero(std::bit_ceil(alignment)));
  }
  [[nodiscard]] std::size_t alignment() const noexcept {
    return alignment_exponent == kNoAlignment ? 0 : std::size_t{1} << alignment_exponent;
  }

  [[nodiscard]] bool is_unused() const noexcept {
    return state.load(std::memory_order_acquire) == State::kUnused;
  }

  /// Returns the program's pointer. Atomic, because threads may read a record that is being reused.
  [[nodiscard]] std::byte* begin() const noexcept { return begin_.load(std::memory_order_relaxed); }
  void set_begin(std::byte* begin) noexcept { begin_.store(begin, std::memory_order_relaxed); }

  /// Returns the pointer that the allocator returned.
  [[nodiscard]] void* raw() const noexcept { return begin() - front; }

  [[nodiscard]] BlockHistory story() const noexcept {
    return {.known = true,
            .freed = state.load(std::memory_order_relaxed) == State::kFreed,
            .address = reinterpret_cast<std::uintptr_t>(begin()),
            .size = size,
            .alignment = alignment(),
            .kind = kind,
            .freed_by = freed_by,
            .allocated = allocated,
            .gone = gone,
            .heap = heap};
  }

 private:
  std::atomic<std::byte*> begin_{nullptr};
};

/// An object pool of block records. 32-bit record numbers take the place of pointers. Records are
/// created on demand and never freed. A stale number therefore reads a valid record, perhaps of
/// another block. Thread-safe; runs inside malloc. Constant-initialized, never destroyed.
class BlockPool {
 public:
  using Number = std::uint32_t;
  static constexpr Number kNone = 0;
  /// Upper bound of record numbers. It leaves two bits of a 32-bit word for flags.
  static constexpr Number kEnd = Number{1} << 30;
  static constexpr Number kFirst = 64;

  constexpr BlockPool() noexcept = default;
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  /// Returns the number of an unused record, or `kNone` if out of memory. `hint` selects one of 16
  /// shards, to avoid lock contention between threads.
  [[nodiscard]] Number take(std::uint32_t hint) noexcept {
    Shard& shard = shards_[hint % kShards];
    const std::lock_guard hold(shard.lock);
    if (shard.free == kNone && !refill(shard)) return kNone;
    const Number number = shard.free;
    shard.free = (*this)[number].next;
    return number;
  }

  void give_back(Number number, std::uint32_t hint) noexcept {
    CheckedBlock& block = (*this)[number];
    block.state.store(CheckedBlock::State::kUnused, std::memory_order_release);
    Shard& shard = shards_[hint % kShards];
    const std::lock_guard hold(shard.lock);
    block.next = shard.free;
    shard.free = number;
  }

  /// Precondition: `take` has returned `number` before.
  [[nodiscard]] CheckedBlock& operator[](Number number) noexcept {
    return chunks_[number / kInChunk].load(std::memory_order_acquire)[number % kInChunk];
  }

  /// Returns the newest record's number plus 1.
  [[nodiscard]] Number end() const noexcept {
    return kInBatch + made_.load(std::memory_order_acquire);
  }

  /// Calls `visit(Number, CheckedBlock&)` for each record ever created.
  template <class Visit>
  void for_each(Visit&& visit) {
    const Number behind = end();
    for (Number number = kFirst; number < behind; ++number) visit(number, (*this)[number]);
  }

 private:
  static constexpr std::uint32_t kShards = 16;
  static constexpr Number kInChunk = 8192;
  static constexpr Number kInBatch = kFirst;
  static constexpr std::size_t kChunks = kEnd / kInChunk;

  struct alignas(64) Shard {
    FutexLock lock;
    Number free = kNone;
  };

  /// Adds a batch of records to `shard`. Never uses the pool's first batch, because 0 is `kNone`.
  bool refill(Shard& shard) noexcept {
    Number made = made_.load(std::memory_order_relaxed);
    do {
      const Number end = kInBatch + made;
      if (end == kEnd || !make_chunk(end / kInChunk)) return false;
    } while (!made_.compare_exchange_weak(made, made + kInBatch, std::memory_order_acq_rel));
    const Number first = kInBatch + made;
    for (Number i = kInBatch; i > 0; --i) {
      CheckedBlock& block = (*this)[first + i - 1];
      block.next = shard.free;
      shard.free = first + i - 1;
    }
    return true;
  }

  bool make_chunk(std::size_t chunk) noexcept {
    if (chunks_[chunk].load(std::memory_order_acquire) != nullptr) return true;
    const std::lock_guard hold(lock_);
    if (chunks_[chunk].load(std::memory_order_relaxed) != nullptr) return true;
    void* const memory = Arena::allocate(kInChunk * sizeof(CheckedBlock));
    if (memory == nullptr) return false;
    chunks_[chunk].store(::new (memory) CheckedBlock[kInChunk], std::memory_order_release);
    return true;
  }

  FutexLock lock_;
  /// Number of created records, excluding those below `kFirst`: 0 at first, so that a static pool
  /// lies in .bss.
  std::atomic<Number> made_{0};
  std::array<Shard, kShards> shards_{};
  ZeroedArray<std::atomic<CheckedBlock*>, kChunks> chunks_;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/check/impl/checked_block.hpp"
#endif
