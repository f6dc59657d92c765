/// The budgets of all tags.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "alloctap/game/budget.hpp"
#include "alloctap/guard/futex_lock.hpp"
#include "alloctap/guard/zeroed_array.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/clock.hpp"
#include "alloctap/snapshot/frame_history.hpp"
#include "alloctap/tag/tag_scope.hpp"

namespace alloctap {

/// Finds the budgets of a tag: its own, and those of the tags around it. `set` and `copy` are for
/// who has closed the gate; the rest runs inside malloc, thread-safe. Constant-initialized.
class BudgetTable {
 public:
  static constexpr std::size_t kMost = 64;
  static constexpr std::size_t kKeptOffences = 64;

  /// Where none is set, that is all that they cost.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE bool any() const noexcept {
    return count_.load(std::memory_order_relaxed) != 0;
  }

  /// Sets the budget of `tag`, or changes it; false where there is no room for another one.
  [[nodiscard]] bool set(TagId tag, const BudgetLimits& limits,
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

  void allocate(TagId tag, StackId stack, std::size_t bytes, FrameNumber frame) noexcept {
    for (Place place = nearest(tag); place != kNone; place = outer_[index_of(place)]) {
      const std::size_t at = index_of(place);
      budgets_[at].allocate(bytes, frame,
                            [&](BudgetKind kind, std::uint64_t limit, std::uint64_t value) {
                              report({.tag = tags_[at],
                                      .kind = kind,
                                      .limit = limit,
                                      .value = value,
                                      .stack = stack,
                                      .frame = frame,
                                      .time_ns = os::wall_clock_ns(),
                                      .tag_name = process_tags.name(tags_[at])},
                                     budgets_[at].on_offence());
                            });
    }
  }

  void free(TagId tag, std::size_t bytes) noexcept {
    for (Place place = nearest(tag); place != kNone; place = outer_[index_of(place)]) {
      budgets_[index_of(place)].free(bytes);
    }
  }

  /// For who ends a frame.
  void end_frame(FrameNumber ended) noexcept {
    const std::size_t count = count_.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < count; ++i) budgets_[i].end_frame(ended);
  }

  /// False where the system has no memory.
  [[nodiscard]] bool copy(FrameNumber frame, FrameHistory& history) const noexcept {
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

 private:
  /// Of a budget, or one of the first two.
  using Place = std::uint8_t;
  static constexpr Place kUnknown = 0;
  static constexpr Place kNone = 1;
  static constexpr std::size_t kTags = std::size_t{TagTable::kMostTags} + 1;

  static constexpr std::size_t index_of(Place place) noexcept { return place - std::size_t{2}; }

  ALLOCTAP_ALWAYS_INLINE Place nearest(TagId tag) noexcept {
    const Place known = nearest_[tag].load(std::memory_order_relaxed);
    return known != kUnknown ? known : learn_nearest(tag);
  }

  ALLOCTAP_NOINLINE Place learn_nearest(TagId tag) noexcept {
    const Place place = find_nearest(tag);
    nearest_[tag].store(place, std::memory_order_relaxed);
    return place;
  }

  /// The budget of `tag`, or of the innermost tag around it that has one.
  [[nodiscard]] Place find_nearest(TagId tag) const noexcept {
    const TagId* const end = tags_.data() + count_.load(std::memory_order_relaxed);
    for (;; tag = process_tags.parent(tag)) {
      const TagId* const found = std::find(tags_.data(), end, tag);
      if (found != end) return static_cast<Place>(found - tags_.data() + 2);
      if (tag == kNoTag) return kNone;
    }
  }

  ALLOCTAP_NOINLINE void report(const BudgetOffence& offence,
                                Budget::OnOffence on_offence) noexcept {
    {
      const std::lock_guard hold(offences_lock_);
      last_offences_[offences_++ % kKeptOffences] = offence;
    }
    if (on_offence != nullptr) on_offence(offence);
  }

  std::atomic<std::size_t> count_{0};
  std::array<TagId, kMost> tags_{};
  /// The next budget further out.
  std::array<Place, kMost> outer_{};
  ZeroedArray<std::atomic<Place>, kTags> nearest_;
  std::array<Budget, kMost> budgets_{};
  FutexLock offences_lock_;
  std::array<BudgetOffence, kKeptOffences> last_offences_{};
  std::uint64_t offences_ = 0;
};

}  // namespace alloctap
