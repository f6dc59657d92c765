/// Copies of texts, each text once.
#pragma once

#include <cstddef>
#include <string_view>

#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/text_pool.hpp"

namespace alloctap {

/// An open-addressed set of texts in the arena. Move-only; not thread-safe.
class TextSet {
 public:
  /// The copy of `text`, made when it is new, cut to `TextPool::kLongest`; empty where the system
  /// has no memory. Stays where it is until the set is destroyed.
  [[nodiscard]] std::string_view keep(std::string_view text) noexcept;

  /// How many different texts there are.
  [[nodiscard]] std::size_t size() const noexcept { return used_; }

 private:
  static constexpr std::size_t kFirstCapacity = 256;

  /// Where `text` is, or would be. The size of `texts` is a power of two.
  static std::string_view& place_of(ArenaArray<std::string_view>& texts,
                                    std::string_view text) noexcept;

  bool grow() noexcept;

  ArenaArray<std::string_view> texts_;
  TextPool pool_;
  std::size_t used_ = 0;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/runtime/impl/text_set.hpp"
#endif
