/// Where the records of checked blocks live.
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

/// Records under numbers from 1, made as they are needed, reused, and never given back: whoever
/// holds an old number reads a record, if perhaps another block's. Thread-safe; runs inside malloc.
/// Constant-initialized, never destroyed.
class BlockPool {
 public:
  using Number = std::uint32_t;
  static constexpr Number kNone = 0;
  /// How many numbers there are: they fit beside two bits.
  static constexpr Number kEnd = Number{1} << 30;
  static constexpr Number kFirst = 64;

  constexpr BlockPool() noexcept = default;
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  /// The number of a record that nobody has; `kNone` where the system has no memory for one.
  /// `hint` tells threads apart: those with different ones seldom wait for each other.
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

  /// `number` was given out once.
  [[nodiscard]] CheckedBlock& operator[](Number number) noexcept {
    return chunks_[number / kInChunk].load(std::memory_order_acquire)[number % kInChunk];
  }

  /// Numbers from the first to before this one were made.
  [[nodiscard]] Number end() const noexcept {
    return kInBatch + made_.load(std::memory_order_acquire);
  }

  /// Calls `visit(Number, CheckedBlock&)` for each record that was ever made.
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

  /// Takes a batch of numbers for `shard`. The first batch of all is left out: 0 is none.
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
  /// Beside the batch that is left out. Initially 0, so that a static pool takes no room in files.
  std::atomic<Number> made_{0};
  std::array<Shard, kShards> shards_{};
  ZeroedArray<std::atomic<CheckedBlock*>, kChunks> chunks_;
};

}  // namespace alloctap
