/// A lookup table from tags to their budgets.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloctap/game/budget.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/clock.hpp"
#include "alloctap/runtime/futex_lock.hpp"
#include "alloctap/runtime/zeroed_array.hpp"
#include "alloctap/snapshot/frame_history.hpp"
#include "alloctap/tag/tag_scope.hpp"

namespace alloctap {

/// The budgets that apply to a tag: its own, and those of enclosing tags. `set` and `copy` require
/// a stopped world; the other functions are thread-safe and run inside malloc.
/// Constant-initialized.
class BudgetTable {
 public:
  static constexpr std::size_t kMost = 64;
  static constexpr std::size_t kKeptOffences = 64;

  /// Returns true if a budget was set. Without budgets, this check is the only cost.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE bool any() const noexcept {
    return count_.load(std::memory_order_relaxed) != 0;
  }

  /// Sets or changes the budget of `tag`. Returns false if the table is full.
  [[nodiscard]] bool set(TagId tag, const BudgetLimits& limits,
                         const BudgetAction& action) noexcept;

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

  /// Called by the thread that ends the frame.
  void end_frame(FrameNumber ended) noexcept {
    const std::size_t count = count_.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < count; ++i) budgets_[i].end_frame(ended);
  }

  /// Copies budgets and recent offences. Returns false if out of memory.
  [[nodiscard]] bool copy(FrameNumber frame, FrameHistory& history) const noexcept;

 private:
  /// A budget's index plus 2, or one of the two constants.
  using Place = std::uint8_t;
  static constexpr Place kUnknown = 0;
  static constexpr Place kNone = 1;
  static constexpr std::size_t kTags = std::size_t{TagTable::kMaxTags} + 1;

  static constexpr std::size_t index_of(Place place) noexcept { return place - std::size_t{2}; }

  ALLOCTAP_ALWAYS_INLINE Place nearest(TagId tag) noexcept {
    const Place known = nearest_[tag].load(std::memory_order_relaxed);
    return known != kUnknown ? known : learn_nearest(tag);
  }

  Place learn_nearest(TagId tag) noexcept;

  /// Returns the slot of `tag`'s budget, or of the innermost enclosing tag with a budget.
  [[nodiscard]] Place find_nearest(TagId tag) const noexcept;

  void report(const BudgetOffence& offence, Budget::OnOffence on_offence) noexcept;

  std::atomic<std::size_t> count_{0};
  std::array<TagId, kMost> tags_{};
  /// The next enclosing budget of each budget.
  std::array<Place, kMost> outer_{};
  ZeroedArray<std::atomic<Place>, kTags> nearest_;
  std::array<Budget, kMost> budgets_{};
  FutexLock offences_lock_;
  std::array<BudgetOffence, kKeptOffences> last_offences_{};
  std::uint64_t offences_ = 0;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/game/impl/budget_table.hpp"
#endif
