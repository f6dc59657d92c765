/// Numbers for functions, as formats with a table of functions want them.
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

/// Gives every function, which is a label and a file, a number, from 0 in the order in which they
/// came. Keeps no copies: labels must outlive it. Memory from the arena. Not thread-safe.
class FunctionNumbers {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  struct Function {
    std::string_view label;
    std::string_view file;
  };

  /// `kNone` where the system has no memory.
  [[nodiscard]] std::uint32_t number_of(const LabelledFrame& frame) noexcept {
    const std::uint32_t label = texts_.number_of(frame.label);
    const std::uint32_t file = texts_.number_of(frame.file);
    if (label == TextNumbers::kNone || file == TextNumbers::kNone) return kNone;
    // A function is a step to its file behind the step to its label.
    const PathTree::Node node = pairs_.below(pairs_.below(PathTree::kRoot, label), file);
    if (node == PathTree::kNone || !numbers_.resize(pairs_.last() + std::size_t{1})) return kNone;
    if (numbers_[node] == 0) {
      if (!functions_.push_back({frame.label, frame.file})) return kNone;
      numbers_[node] = static_cast<std::uint32_t>(functions_.size());
    }
    return numbers_[node] - 1;
  }

  /// By number.
  [[nodiscard]] std::span<const Function> functions() const noexcept {
    return {functions_.data(), functions_.size()};
  }

 private:
  TextNumbers texts_;
  PathTree pairs_;
  /// By node: one more than the number of its function; 0 of a node that stands for none.
  ArenaArray<std::uint32_t> numbers_;
  ArenaArray<Function> functions_;
};

}  // namespace alloctap
