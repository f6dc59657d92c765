/// Storage of strings in the arena: copies at stable addresses, and interning.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

#include "alloctap/runtime/arena_array.hpp"

namespace alloctap {

/// A bump allocator for strings at stable addresses. Its blocks are arena memory, which the
/// destructor frees. Move-only; not thread-safe.
class TextPool {
 public:
  constexpr TextPool() noexcept = default;
  TextPool(TextPool&& other) noexcept : newest_(std::exchange(other.newest_, nullptr)) {}
  TextPool& operator=(TextPool&& other) noexcept {
    std::swap(newest_, other.newest_);
    return *this;
  }
  ~TextPool();

  /// Returns a copy of `text`, cut to `kLongest` bytes; empty if out of memory.
  [[nodiscard]] std::string_view keep(std::string_view text) noexcept;

  static constexpr std::size_t kLongest = 32 * 1024 - 64;

 private:
  struct Block {
    Block* older = nullptr;
    std::size_t used = 0;
    char text[kLongest];
  };

  Block* newest_ = nullptr;
};

/// An open-addressing hash set of strings in arena memory. Move-only; not thread-safe.
class TextSet {
 public:
  /// Returns the stored copy of `text`, cut to `TextPool::kLongest` bytes; empty if out of memory.
  /// The copy stays valid until the set is destroyed.
  [[nodiscard]] std::string_view keep(std::string_view text) noexcept;

  [[nodiscard]] std::size_t size() const noexcept { return used_; }

 private:
  static constexpr std::size_t kFirstCapacity = 256;

  /// Returns the slot of `text`, or an empty slot for it. `texts.size()` is a power of two.
  static std::string_view& place_of(ArenaArray<std::string_view>& texts,
                                    std::string_view text) noexcept;

  bool grow() noexcept;

  ArenaArray<std::string_view> texts_;
  TextPool pool_;
  std::size_t used_ = 0;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/runtime/impl/text_pool.hpp"
#endif
