/// The bodies of game/budget_table.hpp.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "alloctap/game/budget_table.hpp"
#include "alloctap/os/file.hpp"

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

ALLOCTAP_INLINE bool BudgetTable::set(TagId tag, const BudgetLimits& limits,
                                      const BudgetAction& action) noexcept {
  const std::size_t count = count_.load(std::memory_order_relaxed);
  std::size_t at = 0;
  while (at < count && tags_[at] != tag) ++at;
  if (at == kMaxCount) return false;
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
