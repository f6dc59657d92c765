/// The new faults that one call found.
#pragma once

#include <array>
#include <cstddef>

#include "alloctap/check/misuse.hpp"

namespace alloctap {

/// Up to `kMaxKept` faults, which the `MisuseLog` owns. Drops the rest, which only sweeps find.
class FoundMisuses {
 public:
  static constexpr std::size_t kMaxKept = 8;

  /// Adds `misuse` unless it is null or the list is full.
  void add(const Misuse* misuse) noexcept {
    if (misuse != nullptr && size_ < kMaxKept) misuses_[size_++] = misuse;
  }

  [[nodiscard]] const Misuse* const* begin() const noexcept { return misuses_.data(); }
  [[nodiscard]] const Misuse* const* end() const noexcept { return misuses_.data() + size_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  std::array<const Misuse*, kMaxKept> misuses_{};
  std::size_t size_ = 0;
};

}  // namespace alloctap
