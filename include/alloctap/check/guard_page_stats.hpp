/// Statistics of guard-page placement.
#pragma once

#include <cstdint>

namespace alloctap {

struct GuardPageStats {
  /// The sampling rate: one in this many blocks; 0 if guard pages are off.
  std::uint32_t one_in = 0;
  std::uint64_t placed = 0;
  /// Sampled blocks without guard pages, because the guard-page pool was full.
  std::uint64_t fell_back = 0;
  /// Sampled blocks without guard pages, because `GuardBudget` was exhausted.
  std::uint64_t passed_over = 0;
};

}  // namespace alloctap
