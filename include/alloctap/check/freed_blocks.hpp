/// A FIFO queue of freed blocks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/check/block_pool.hpp"
#include "alloctap/runtime/arena.hpp"

namespace alloctap {

/// A ring buffer of block numbers with a fixed capacity. Not thread-safe; runs inside malloc.
/// Constant-initialized, never destroyed.
class FreedBlocks {
 public:
  using Number = BlockPool::Number;

  constexpr FreedBlocks() noexcept = default;
  FreedBlocks(const FreedBlocks&) = delete;
  FreedBlocks& operator=(const FreedBlocks&) = delete;

  /// Adds the newest block. The first call sets the capacity to `places`. Returns false if the
  /// buffer is full or out of memory.
  [[nodiscard]] bool push(Number number, std::uint32_t places) noexcept {
    if (numbers_ == nullptr && !make(places)) return false;
    if (size_ == places_) return false;
    numbers_[(first_ + size_) % places_] = number;
    ++size_;
    return true;
  }

  /// Removes the oldest block. Precondition: not empty.
  [[nodiscard]] Number pop() noexcept {
    const Number number = numbers_[first_];
    first_ = (first_ + 1) % places_;
    --size_;
    return number;
  }

  /// Removes the blocks for which `leave(Number)` returns true; keeps the order of the others.
  template <class Leave>
  void remove_if(Leave&& leave) {
    std::uint32_t kept = 0;
    for (std::uint32_t i = 0; i < size_; ++i) {
      const Number number = numbers_[(first_ + i) % places_];
      if (!leave(number)) numbers_[(first_ + kept++) % places_] = number;
    }
    size_ = kept;
  }

  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  [[nodiscard]] bool full() const noexcept { return numbers_ != nullptr && size_ == places_; }

  /// Calls `visit(Number)` for each block, oldest first.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (std::uint32_t i = 0; i < size_; ++i) visit(numbers_[(first_ + i) % places_]);
  }

 private:
  bool make(std::uint32_t places) noexcept {
    if (places == 0) return false;
    numbers_ = static_cast<Number*>(Arena::allocate(places * sizeof(Number)));
    places_ = numbers_ == nullptr ? 0 : places;
    return numbers_ != nullptr;
  }

  Number* numbers_ = nullptr;
  std::uint32_t places_ = 0;
  std::uint32_t first_ = 0;
  std::uint32_t size_ = 0;
};

}  // namespace alloctap
