/// Makes the arena run dry at a chosen moment.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>
#include <optional>

#include "alloctap/runtime/arena.hpp"
#include "tests/support/bounded_memory.hpp"

namespace alloctap::testing {

/// While one is alive, the arena has no block of up to `kLargestBlock` bytes but those that
/// `give_back` leaves it, and the system maps no more than a few pages for anybody. So the test
/// computes first, and checks once this is gone. No other thread may use the arena meanwhile.
class StarvedArena {
 public:
  /// So many blocks of every size can be given back at least.
  static constexpr std::size_t kMaxGivenBack = 4;

  StarvedArena() {
    for (std::size_t bytes = Arena::kLargestBlock; bytes >= Arena::kSmallestBlock; bytes /= 2) {
      for (std::size_t i = 0; i < kMaxGivenBack; ++i) keep(Arena::allocate(bytes), bytes);
    }
    bound_.emplace(kSlack);
    for (std::size_t bytes = Arena::kLargestBlock; bytes >= Arena::kSmallestBlock; bytes /= 2) {
      while (void* block = Arena::allocate(bytes)) keep(block, bytes);
    }
  }

  ~StarvedArena() {
    bound_.reset();
    while (taken_ != nullptr) free_first();
  }
  StarvedArena(const StarvedArena&) = delete;
  StarvedArena& operator=(const StarvedArena&) = delete;

  /// Lets the arena have `count` blocks of `bytes`, a power of two, again.
  void give_back(std::size_t count, std::size_t bytes) {
    for (Block** link = &taken_; count > 0;) {
      if (*link == nullptr) std::abort();
      Block* block = *link;
      if (block->bytes != bytes) {
        link = &block->next;
        continue;
      }
      *link = block->next;
      Arena::deallocate(block, bytes);
      --count;
    }
  }

 private:
  struct Block {
    Block* next;
    std::size_t bytes;
  };

  /// Less than the arena's chunk.
  static constexpr std::size_t kSlack = 256 * 1024;
  static_assert(kSlack < Arena::kChunkBytes);
  static_assert(sizeof(Block) <= Arena::kSmallestBlock);

  void keep(void* block, std::size_t bytes) {
    if (block == nullptr) std::abort();
    taken_ = ::new (block) Block{taken_, bytes};
  }

  void free_first() {
    Block* block = taken_;
    taken_ = block->next;
    Arena::deallocate(block, block->bytes);
  }

  std::optional<BoundedMemory> bound_;
  Block* taken_ = nullptr;
};

}  // namespace alloctap::testing
