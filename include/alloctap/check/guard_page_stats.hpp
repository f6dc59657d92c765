/// Statistics of guard-page placement.
#pragma once

#include <cstdint>

namespace alloctap {

struct GuardPageStats {
  /// The sampling rate: one in this many blocks; 0 if guard pages are off.
  std::uint32_t one_in = 0;
  std::uint64_t placed = 0;
  /// Blocks that the allocator placed because the guard-page pool was full.
  std::uint64_t fell_back = 0;
  /// Sampled blocks that the allocator placed because `GuardBudget` was exhausted.
  std::uint64_t passed_over = 0;
};

}  // namespace alloctap
