/// What one call found wrong that was not known yet.
#pragma once

#include <array>
#include <cstddef>

#include "alloctap/check/misuse.hpp"

namespace alloctap {

/// Up to `kMaxKept` faults, which a `MisuseLog` keeps. Of a sweep over all blocks more may be new.
class FoundMisuses {
 public:
  static constexpr std::size_t kMaxKept = 8;

  /// Does nothing where `misuse` is null.
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
