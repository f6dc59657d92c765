/// Function bodies of game/budget_table.hpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "alloctap/game/budget.hpp"
#include "alloctap/game/budget_table.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/snapshot/frame_history.hpp"
#include "alloctap/tag/tag_scope.hpp"

namespace alloctap {

ALLOCTAP_INLINE bool BudgetTable::set(TagId tag, const BudgetLimits& limits,
                                      const BudgetAction& action) noexcept {
  const std::size_t count = count_.load(std::memory_order_relaxed);
  std::size_t at = 0;
  while (at < count && tags_[at] != tag) ++at;
  if (at == kMost) return false;
  budgets_[at].set(limits, action, at == count);
  if (at < count) return true;
  tags_[at] = tag;
  count_.store(count + 1, std::memory_order_release);
  for (std::size_t i = 0; i < kTags; ++i) nearest_[i].store(kUnknown);
  for (std::size_t i = 0; i <= count; ++i) {
    outer_[i] = tags_[i] == kNoTag ? kNone : find_nearest(process_tags.parent(tags_[i]));
  }
  return true;
}

ALLOCTAP_INLINE bool BudgetTable::copy(FrameNumber frame, FrameHistory& history) const noexcept {
  bool kept = true;
  for (std::size_t i = 0; i < count_.load(std::memory_order_relaxed); ++i) {
    kept = history.budgets.push_back({tags_[i], budgets_[i].summary(frame)}) && kept;
  }
  history.forgotten_offences = offences_ - std::min<std::uint64_t>(offences_, kKeptOffences);
  for (std::uint64_t i = history.forgotten_offences; i < offences_; ++i) {
    kept = history.offences.push_back(last_offences_[i % kKeptOffences]) && kept;
  }
  return kept;
}

ALLOCTAP_NOINLINE ALLOCTAP_INLINE BudgetTable::Place BudgetTable::learn_nearest(
    TagId tag) noexcept {
  const Place place = find_nearest(tag);
  nearest_[tag].store(place, std::memory_order_relaxed);
  return place;
}

ALLOCTAP_INLINE BudgetTable::Place BudgetTable::find_nearest(TagId tag) const noexcept {
  const TagId* const end = tags_.data() + count_.load(std::memory_order_relaxed);
  for (;; tag = process_tags.parent(tag)) {
    const TagId* const found = std::find(tags_.data(), end, tag);
    if (found != end) return static_cast<Place>(found - tags_.data() + 2);
    if (tag == kNoTag) return kNone;
  }
}

ALLOCTAP_NOINLINE ALLOCTAP_INLINE void BudgetTable::report(const BudgetOffence& offence,
                                                           Budget::OnOffence on_offence) noexcept {
  {
    const std::lock_guard hold(offences_lock_);
    last_offences_[offences_++ % kKeptOffences] = offence;
  }
  if (on_offence != nullptr) on_offence(offence);
}

}  // namespace alloctap
