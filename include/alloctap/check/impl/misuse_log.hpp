/// Definitions for check/misuse_log.hpp.
#pragma once

#include "alloctap/check/misuse_log.hpp"
#include "alloctap/macros.hpp"

namespace alloctap {

ALLOCTAP_INLINE const Misuse* MisuseLog::add(const Misuse& misuse) noexcept {
  const std::lock_guard hold(lock_);
  ++found_;
  if (entries_ == nullptr) entries_ = allocate();
  for (std::size_t i = 0; i < size_; ++i) {
    if (!is_same(entries_[i].first, misuse)) continue;
    ++entries_[i].times;
    return nullptr;
  }
  if (entries_ == nullptr || size_ == kMaxCount) {
    ++left_out_;
    return nullptr;
  }
  entries_[size_] = {.first = misuse, .times = 1};
  return &entries_[size_++].first;
}

ALLOCTAP_INLINE bool MisuseLog::is_same(const Misuse& a, const Misuse& b) noexcept {
  return a.kind == b.kind && a.found.stack == b.found.stack &&
         a.block.allocated.stack == b.block.allocated.stack &&
         a.block.gone.stack == b.block.gone.stack;
}

}  // namespace alloctap
