/// Copies of texts that stay where they are.
#pragma once

#include <cstddef>
#include <new>
#include <string_view>
#include <utility>

#include "alloctap/guard/arena.hpp"

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
  ~TextPool() {
    while (newest_ != nullptr) {
      Block* older = newest_->older;
      Arena::deallocate(newest_, sizeof(Block));
      newest_ = older;
    }
  }

  /// A copy of `text`, cut to `kLongest`; empty where the system has no memory.
  [[nodiscard]] std::string_view keep(std::string_view text) noexcept {
    text = text.substr(0, kLongest);
    if (newest_ == nullptr || kLongest - newest_->used < text.size()) {
      void* memory = Arena::allocate(sizeof(Block));
      if (memory == nullptr) return {};
      auto* block = ::new (memory) Block;
      block->older = newest_;
      newest_ = block;
    }
    char* place = newest_->text + newest_->used;
    text.copy(place, text.size());
    newest_->used += text.size();
    return {place, text.size()};
  }

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
