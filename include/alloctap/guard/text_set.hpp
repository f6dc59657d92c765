/// Copies of texts, each text once.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

#include "alloctap/guard/arena_array.hpp"
#include "alloctap/guard/text_hash.hpp"
#include "alloctap/guard/text_pool.hpp"

namespace alloctap {

/// An open-addressed set of texts in the arena. Move-only; not thread-safe.
class TextSet {
 public:
  /// The copy of `text`, made when it is new, cut to `TextPool::kLongest`; empty where the system
  /// has no memory. Stays where it is until the set is destroyed.
  [[nodiscard]] std::string_view keep(std::string_view text) noexcept {
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

  /// How many different texts there are.
  [[nodiscard]] std::size_t size() const noexcept { return used_; }

 private:
  static constexpr std::size_t kFirstCapacity = 256;

  /// Where `text` is, or would be. The size of `texts` is a power of two.
  static std::string_view& place_of(ArenaArray<std::string_view>& texts,
                                    std::string_view text) noexcept {
    const std::size_t mask = texts.size() - 1;
    std::size_t at = hash_text(text) & mask;
    while (!texts[at].empty() && texts[at] != text) at = (at + 1) & mask;
    return texts[at];
  }

  bool grow() noexcept {
    ArenaArray<std::string_view> larger;
    if (!larger.resize(texts_.empty() ? kFirstCapacity : texts_.size() * 2)) return false;
    for (const std::string_view text : texts_) {
      if (!text.empty()) place_of(larger, text) = text;
    }
    texts_ = std::move(larger);
    return true;
  }

  ArenaArray<std::string_view> texts_;
  TextPool pool_;
  std::size_t used_ = 0;
};

}  // namespace alloctap
