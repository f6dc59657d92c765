/// Sequential numbers for strings and functions, for formats with tables of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "alloctap/dump/export/call_paths.hpp"
#include "alloctap/dump/export/frame_labels.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/text_bytes.hpp"

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

/// Table of functions, numbered from 0 in order of first use. Label and file identify a function.
/// Refers to labels and file names, which must outlive the table. Uses arena memory. Not
/// thread-safe.
class FunctionNumbers {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  struct Function {
    std::string_view label;
    std::string_view file;
  };

  /// Returns the function's number, or `kNone` if out of memory.
  [[nodiscard]] std::uint32_t number_of(const LabelledFrame& frame) noexcept {
    const std::uint32_t label = texts_.number_of(frame.label);
    const std::uint32_t file = texts_.number_of(frame.file);
    if (label == TextNumbers::kNone || file == TextNumbers::kNone) return kNone;
    // The trie path of a function has two steps: the numbers of its label and file.
    const PathTree::Node node = pairs_.below(pairs_.below(PathTree::kRoot, label), file);
    if (node == PathTree::kNone || !numbers_.resize(pairs_.last() + std::size_t{1})) return kNone;
    if (numbers_[node] == 0) {
      if (!functions_.push_back({frame.label, frame.file})) return kNone;
      numbers_[node] = static_cast<std::uint32_t>(functions_.size());
    }
    return numbers_[node] - 1;
  }

  /// Returns the functions, indexed by number.
  [[nodiscard]] std::span<const Function> functions() const noexcept {
    return {functions_.data(), functions_.size()};
  }

 private:
  TextNumbers texts_;
  PathTree pairs_;
  /// Indexed by trie node: the function's number plus 1, or 0 if no function's path ends here.
  ArenaArray<std::uint32_t> numbers_;
  ArenaArray<Function> functions_;
};

}  // namespace alloctap
