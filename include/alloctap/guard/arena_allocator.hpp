/// The arena behind the interface that containers of libraries ask for.
#pragma once

#include <cstddef>

#include "alloctap/guard/arena.hpp"

namespace alloctap {

/// A block taken ahead of a container's growth, so that the growth cannot fail.
///
/// Containers report a failed allocation by an exception, which must not cross malloc, and are not
/// all usable afterwards. So their owner takes the block first and gives up where it gets none.
class ArenaReserve {
 public:
  /// Makes sure that `bytes` are at hand; false where the system has no more.
  [[nodiscard]] bool prepare(std::size_t bytes) noexcept {
    if (bytes_ >= bytes) return true;
    release();
    block_ = Arena::allocate(bytes);
    bytes_ = block_ == nullptr ? 0 : bytes;
    return block_ != nullptr;
  }

  /// Gives back what was prepared and not taken.
  void release() noexcept {
    if (block_ != nullptr) Arena::deallocate(block_, bytes_);
    block_ = nullptr;
    bytes_ = 0;
  }

  /// The prepared block and its size; it belongs to the caller now. nullptr where none is there.
  void* take(std::size_t& bytes) noexcept {
    void* block = block_;
    bytes = bytes_;
    block_ = nullptr;
    bytes_ = 0;
    return block;
  }

 private:
  void* block_ = nullptr;
  std::size_t bytes_ = 0;
};

/// A standard allocator over the arena that draws on an `ArenaReserve` first. The reserve outlives
/// every copy of the allocator. A request that neither reserve nor system can serve ends the
/// process: the owner of the container must prepare.
template <class T>
class ArenaAllocator {
 public:
  using value_type = T;

  explicit ArenaAllocator(ArenaReserve* reserve) noexcept : reserve_(reserve) {}
  template <class U>
  ArenaAllocator(const ArenaAllocator<U>& other) noexcept : reserve_(other.reserve()) {}

  T* allocate(std::size_t count) noexcept {
    const std::size_t wanted = count * sizeof(T) + kHeaderBytes;
    std::size_t bytes = 0;
    void* block = reserve_->take(bytes);
    if (block == nullptr || bytes < wanted) {
      if (block != nullptr) Arena::deallocate(block, bytes);
      bytes = wanted;
      block = Arena::allocate(bytes);
      if (block == nullptr) __builtin_trap();
    }
    *static_cast<std::size_t*>(block) = bytes;
    return reinterpret_cast<T*>(static_cast<std::byte*>(block) + kHeaderBytes);
  }

  void deallocate(T* address, std::size_t) noexcept {
    void* block = reinterpret_cast<std::byte*>(address) - kHeaderBytes;
    Arena::deallocate(block, *static_cast<std::size_t*>(block));
  }

  [[nodiscard]] ArenaReserve* reserve() const noexcept { return reserve_; }

  template <class U>
  bool operator==(const ArenaAllocator<U>& other) const noexcept {
    return reserve_ == other.reserve();
  }

  /// What the allocator adds to a container's own need.
  static constexpr std::size_t kHeaderBytes = 16;

 private:
  ArenaReserve* reserve_;
};

}  // namespace alloctap
