/// String interning: one copy of each distinct string.
#pragma once

#include <cstddef>
#include <string_view>

#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/text_pool.hpp"

namespace alloctap {

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
#include "alloctap/runtime/impl/text_set.hpp"
#endif
