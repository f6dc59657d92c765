/// Function bodies of game/budget.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "alloctap/game/budget.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/file.hpp"
#include "alloctap/snapshot/budget_summary.hpp"

namespace alloctap {

ALLOCTAP_INLINE std::string_view describe_offence(const BudgetOffence& offence,
                                                  OffenceLine& line) noexcept {
  const std::string_view kind = name_of(offence.kind);
  const int length = std::snprintf(
      line.data(), line.size(),
      "alloctap: tag \"%.*s\" is over its budget of %.*s: %llu of %llu, in frame %llu\n",
      static_cast<int>(offence.tag_name.size()), offence.tag_name.data(),
      static_cast<int>(kind.size()), kind.data(), static_cast<unsigned long long>(offence.value),
      static_cast<unsigned long long>(offence.limit),
      static_cast<unsigned long long>(offence.frame));
  return {line.data(), std::min(static_cast<std::size_t>(std::max(length, 0)), line.size() - 1)};
}

ALLOCTAP_INLINE void abort_on_offence(const BudgetOffence& offence) noexcept {
  constexpr int kStandardError = 2;
  OffenceLine line{};
  static_cast<void>(os::write_all(kStandardError, describe_offence(offence, line)));
  std::abort();
}

ALLOCTAP_INLINE void Budget::set(const BudgetLimits& limits, const BudgetAction& action,
                                 bool is_new) noexcept {
  const std::array<std::uint64_t, kBudgetKinds> values{
      limits.held_bytes, limits.allocations_per_frame, limits.bytes_per_frame};
  for (std::size_t i = 0; i < kBudgetKinds; ++i) {
    limits_[i].store(values[i], std::memory_order_relaxed);
  }
  on_offence_.store(action.on_offence, std::memory_order_relaxed);
  if (!is_new) return;
  used_[0].store(limits.held_already, std::memory_order_relaxed);
  raise(most_[0], limits.held_already);
}

ALLOCTAP_INLINE void Budget::end_frame(FrameNumber ended) noexcept {
  for (std::size_t i = 1; i < kBudgetKinds; ++i) {
    const std::uint64_t used = used_[i].load(std::memory_order_relaxed);
    if (ended != 0) raise(most_[i], in_frame(i, used));
    at_begin_[i].store(used, std::memory_order_relaxed);
  }
}

ALLOCTAP_INLINE std::array<LimitSummary, kBudgetKinds> Budget::summary(
    FrameNumber frame) const noexcept {
  std::array<LimitSummary, kBudgetKinds> sums{};
  for (std::size_t i = 0; i < kBudgetKinds; ++i) {
    const std::uint64_t used = used_[i].load(std::memory_order_relaxed);
    const bool counts = i == 0 || frame != 0;
    const std::uint64_t value = i == 0 ? positive(used) : in_frame(i, used);
    sums[i] = {.limit = limits_[i].load(std::memory_order_relaxed),
               .value = counts ? value : 0,
               .most = std::max(most_[i].load(std::memory_order_relaxed), counts ? value : 0),
               .offences = offences_[i].load(std::memory_order_relaxed)};
  }
  return sums;
}

ALLOCTAP_INLINE void Budget::raise(Number& most, std::uint64_t value) noexcept {
  std::uint64_t before = most.load(std::memory_order_relaxed);
  while (value > before && !most.compare_exchange_weak(before, value, std::memory_order_relaxed)) {
  }
}

}  // namespace alloctap
