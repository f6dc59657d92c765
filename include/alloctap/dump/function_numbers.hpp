/// Sequential numbers for functions, for formats with a function table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "alloctap/dump/frame_labels.hpp"
#include "alloctap/dump/path_tree.hpp"
#include "alloctap/dump/text_numbers.hpp"
#include "alloctap/runtime/arena_array.hpp"

namespace alloctap {

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
  /// Indexed by trie node: the function's number plus 1, or 0 if no function ends there.
  ArenaArray<std::uint32_t> numbers_;
  ArenaArray<Function> functions_;
};

}  // namespace alloctap
