/// The bodies of runtime/text_pool.hpp.
#pragma once

#include <new>
#include <string_view>

#include "alloctap/macros.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/runtime/cut_text.hpp"
#include "alloctap/runtime/text_pool.hpp"

namespace alloctap {

ALLOCTAP_INLINE TextPool::~TextPool() {
  while (newest_ != nullptr) {
    Block* older = newest_->older;
    Arena::deallocate(newest_, sizeof(Block));
    newest_ = older;
  }
}

ALLOCTAP_INLINE std::string_view TextPool::keep(std::string_view text) noexcept {
  text = cut_text(text, kLongest);
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

}  // namespace alloctap
