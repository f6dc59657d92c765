/// A pool of records of checked blocks.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>

#include "alloctap/check/checked_block.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/runtime/futex_lock.hpp"
#include "alloctap/runtime/zeroed_array.hpp"

namespace alloctap {

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

  /// Returns the record of number `number`. Precondition: `take` has returned `number` before.
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
  /// Records created, without the first batch. Starts at 0, so that a static pool lies in .bss.
  std::atomic<Number> made_{0};
  std::array<Shard, kShards> shards_{};
  ZeroedArray<std::atomic<CheckedBlock*>, kChunks> chunks_;
};

}  // namespace alloctap
