/// What became of the blocks that were to stand beside inaccessible pages.
#pragma once

#include <cstdint>

namespace alloctap {

struct GuardPageStats {
  /// One in so many blocks was chosen; 0: none, because nobody asked for it.
  std::uint32_t one_in = 0;
  std::uint64_t placed = 0;
  /// Those for which there was no room: they are as they would be without the check.
  std::uint64_t fell_back = 0;
  /// Of a sample, those for which there was no time (`GuardBudget`): they are so, too.
  std::uint64_t passed_over = 0;
};

}  // namespace alloctap
