/// Definitions for runtime/text_pool.hpp.
#pragma once

#include <new>

#include "alloctap/macros.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/runtime/text_bytes.hpp"
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

ALLOCTAP_INLINE std::string_view TextSet::keep(std::string_view text) noexcept {
  text = cut_text(text, TextPool::kLongest);
  if (text.empty()) return {};
  if ((used_ + 1) * 2 > texts_.size() && !grow()) return {};
  std::string_view& place = place_of(texts_, text);
  if (place.empty()) {
    place = pool_.keep(text);
    if (!place.empty()) ++used_;
  }
  return place;
}

ALLOCTAP_INLINE std::string_view& TextSet::place_of(ArenaArray<std::string_view>& texts,
                                                    std::string_view text) noexcept {
  const std::size_t mask = texts.size() - 1;
  std::size_t at = hash_text(text) & mask;
  while (!texts[at].empty() && texts[at] != text) at = (at + 1) & mask;
  return texts[at];
}

ALLOCTAP_INLINE bool TextSet::grow() noexcept {
  ArenaArray<std::string_view> larger;
  if (!larger.resize(texts_.empty() ? kFirstCapacity : texts_.size() * 2)) return false;
  for (const std::string_view text : texts_) {
    if (!text.empty()) place_of(larger, text) = text;
  }
  texts_ = std::move(larger);
  return true;
}

}  // namespace alloctap
