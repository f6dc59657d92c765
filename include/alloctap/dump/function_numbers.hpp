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

/// Numbers functions, each a label and a file, from 0 in order of first use. Stores references: the
/// texts must outlive it. Uses arena memory. Not thread-safe.
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
    // A function is the tree node of its file below that of its label.
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
  /// Indexed by node: the function's number plus 1, or 0 for a node that is no function.
  ArenaArray<std::uint32_t> numbers_;
  ArenaArray<Function> functions_;
};

}  // namespace alloctap
