/// The bodies of runtime/text_set.hpp.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

#include "alloctap/macros.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/text_hash.hpp"
#include "alloctap/runtime/text_pool.hpp"
#include "alloctap/runtime/text_set.hpp"

namespace alloctap {

ALLOCTAP_INLINE std::string_view TextSet::keep(std::string_view text) noexcept {
  text = text.substr(0, TextPool::kLongest);
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
