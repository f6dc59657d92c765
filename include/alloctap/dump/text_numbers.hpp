/// Sequential numbers for strings, for formats with a string table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/text_hash.hpp"

namespace alloctap {

/// Table of distinct strings, numbered from 0 in order of first use. Stores references to the
/// strings, which must outlive this object. Uses arena memory. Not thread-safe.
class TextNumbers {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  /// Returns the number of `text`, or `kNone` if out of memory.
  [[nodiscard]] std::uint32_t number_of(std::string_view text) noexcept {
    if ((texts_.size() + 1) * 2 > slots_.size() && !grow()) return kNone;
    std::uint32_t& slot = slot_of(text);
    if (slot == kEmpty) {
      if (!texts_.push_back(text)) return kNone;
      slot = static_cast<std::uint32_t>(texts_.size());
    }
    return slot - 1;
  }

  /// Returns the strings, indexed by number.
  [[nodiscard]] std::span<const std::string_view> texts() const noexcept {
    return {texts_.data(), texts_.size()};
  }

 private:
  static constexpr std::uint32_t kEmpty = 0;
  static constexpr std::size_t kFirstSlots = 256;

  /// Returns the slot of `text`; the slot is free if `text` is new.
  std::uint32_t& slot_of(std::string_view text) noexcept {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash_text(text) & mask;
    while (slots_[at] != kEmpty && texts_[slots_[at] - 1] != text) at = (at + 1) & mask;
    return slots_[at];
  }

  bool grow() noexcept {
    ArenaArray<std::uint32_t> larger;
    if (!larger.resize(slots_.empty() ? kFirstSlots : slots_.size() * 2)) return false;
    slots_ = std::move(larger);
    for (std::uint32_t i = 0; i < texts_.size(); ++i) slot_of(texts_[i]) = i + 1;
    return true;
  }

  ArenaArray<std::string_view> texts_;
  /// Open-addressing hash table of numbers plus 1; 0 is a free slot. The size is a power of two.
  ArenaArray<std::uint32_t> slots_;
};

}  // namespace alloctap
