/// Copies of strings at stable addresses.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

namespace alloctap {

/// A bump allocator for strings. Its blocks are arena memory, which the destructor frees.
/// Move-only; not thread-safe.
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

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/runtime/impl/text_pool.hpp"
#endif
