/// Copies of texts that stay where they are.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

namespace alloctap {

/// Keeps texts in blocks of the arena until it is destroyed. Move-only; not thread-safe.
class TextPool {
 public:
  constexpr TextPool() noexcept = default;
  TextPool(TextPool&& other) noexcept : newest_(std::exchange(other.newest_, nullptr)) {}
  TextPool& operator=(TextPool&& other) noexcept {
    std::swap(newest_, other.newest_);
    return *this;
  }
  ~TextPool();

  /// A copy of `text`, cut to `kLongest`; empty where the system has no memory.
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
