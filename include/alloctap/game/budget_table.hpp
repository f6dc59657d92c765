/// Limits, actions and counters of budgets, and a lookup table from tags to their budgets.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/macros.hpp"
#include "alloctap/os/clock.hpp"
#include "alloctap/runtime/futex_lock.hpp"
#include "alloctap/runtime/static_objects.hpp"
#include "alloctap/snapshot/frame_history.hpp"
#include "alloctap/tag/tag_scope.hpp"
#include "alloctap/tag/tag_table.hpp"

namespace alloctap {

/// Limits for the sum over a tag and its nested tags. The first allocation exceeds a limit of 0.
struct BudgetLimits {
  std::uint64_t held_bytes = kUnlimited;
  std::uint64_t allocations_per_frame = kUnlimited;
  std::uint64_t bytes_per_frame = kUnlimited;
  /// Initial value of the tag's live bytes (see `by_tag`), used only when its first budget is set.
  /// Leave it at 0 if the budget is set before the tag is used.
  std::uint64_t held_already = 0;
};

/// The action when a limit is exceeded. Reports list offences with or without an action.
struct BudgetAction {
  /// Called inside malloc, on the allocating thread, after the block was recorded. nullptr means no
  /// action; `&abort_on_offence` aborts. The function may allocate; its allocations are not
  /// recorded. It must not throw, call `frame_mark`, set a budget, enter a tag, or wait for a lock
  /// whose holder allocates.
  void (*on_offence)(const BudgetOffence& offence) noexcept = nullptr;
};

/// A buffer for a one-line description of an offence.
using OffenceLine = std::array<char, 400>;
static_assert(TagTable::kLongestName + 150 < OffenceLine{}.size());

/// Writes to `line` the message that `abort_on_offence` prints, and returns a view of it.
[[nodiscard]] std::string_view describe_offence(const BudgetOffence& offence,
                                                OffenceLine& line) noexcept;

/// Prints the exceeded limit to standard error and aborts.
[[noreturn]] void abort_on_offence(const BudgetOffence& offence) noexcept;

/// The counters and limits of one budget, updated by all threads that use the tag. Thread-safe and
/// callable inside malloc, except `set` and `end_frame`, whose callers must be serialized.
/// Zero-initialized.
class alignas(64) Budget {
 public:
  using OnOffence = void (*)(const BudgetOffence&) noexcept;

  void set(const BudgetLimits& limits, const BudgetAction& action, bool is_new) noexcept;

  /// Counts an allocation of `bytes` in `frame`. Calls `offend(kind, limit, value)` for each limit
  /// that the allocation exceeds, at most once per limit and frame. Live bytes offend only when
  /// they rise above their limit, not while they stay above it.
  template <class Offend>
  void allocate(std::size_t bytes, FrameNumber frame, Offend&& offend) noexcept {
    const std::uint64_t held = add(0, bytes);
    raise(most_[0], positive(held));
    if (exceeds(0, positive(held)) && !exceeds(0, positive(held - bytes))) {
      offend_once(0, frame, positive(held), offend);
    }
    const std::array<std::uint64_t, kBudgetKinds> added{0, 1, bytes};
    for (std::size_t i = 1; i < kBudgetKinds; ++i) {
      const std::uint64_t value = in_frame(i, add(i, added[i]));
      // Ignores limits per frame before the first mark, because the program is loading.
      if (frame != 0 && exceeds(i, value)) [[unlikely]] {
        offend_once(i, frame, value, offend);
      }
    }
  }

  void free(std::size_t bytes) noexcept { used_[0].fetch_sub(bytes, std::memory_order_relaxed); }

  void end_frame(FrameNumber ended) noexcept;

  [[nodiscard]] OnOffence on_offence() const noexcept {
    return on_offence_.load(std::memory_order_relaxed);
  }

  [[nodiscard]] std::array<LimitSummary, kBudgetKinds> summary(FrameNumber frame) const noexcept;

 private:
  using Number = std::atomic<std::uint64_t>;

  /// Clamps at 0, because frees of blocks allocated before the budget was set are subtracted, too.
  static std::uint64_t positive(std::uint64_t number) noexcept {
    return static_cast<std::int64_t>(number) < 0 ? 0 : number;
  }

  std::uint64_t add(std::size_t kind, std::uint64_t more) noexcept {
    return used_[kind].fetch_add(more, std::memory_order_relaxed) + more;
  }

  /// Clamps at 0: a thread that ended the frame meanwhile may have stored a sum newer than `used`.
  [[nodiscard]] std::uint64_t in_frame(std::size_t kind, std::uint64_t used) const noexcept {
    return positive(used - at_begin_[kind].load(std::memory_order_relaxed));
  }

  [[nodiscard]] bool exceeds(std::size_t kind, std::uint64_t value) const noexcept {
    return value > limits_[kind].load(std::memory_order_relaxed);
  }

  static void raise(Number& most, std::uint64_t value) noexcept;

  template <class Offend>
  ALLOCTAP_NOINLINE void offend_once(std::size_t kind, FrameNumber frame, std::uint64_t value,
                                     Offend& offend) noexcept {
    Number& last = last_offence_[kind];
    if (last.load(std::memory_order_relaxed) == frame + 1) return;
    if (last.exchange(frame + 1, std::memory_order_relaxed) == frame + 1) return;
    offences_[kind].fetch_add(1, std::memory_order_relaxed);
    offend(static_cast<BudgetKind>(kind), limits_[kind].load(std::memory_order_relaxed), value);
  }

  // Arrays are indexed by `BudgetKind`. `used_` counts since the first `set`.
  std::array<Number, kBudgetKinds> used_{};
  std::array<Number, kBudgetKinds> at_begin_{};
  std::array<Number, kBudgetKinds> limits_{};
  std::array<Number, kBudgetKinds> most_{};
  std::array<Number, kBudgetKinds> offences_{};
  /// For each kind, the frame number of the last offence plus one; 0 without an offence.
  std::array<Number, kBudgetKinds> last_offence_{};
  std::atomic<OnOffence> on_offence_{nullptr};
};

/// Maps each tag to the budgets that limit it: the tag's own budget and those of enclosing tags.
/// `set` and `copy` require a stopped world; the other functions are thread-safe and run inside
/// malloc. Constant-initialized.
class BudgetTable {
 public:
  static constexpr std::size_t kMaxCount = 64;
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

  /// Ends a frame in all budgets. Only `frame_mark` calls this, one thread at a time.
  void end_frame(FrameNumber ended) noexcept {
    const std::size_t count = count_.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < count; ++i) budgets_[i].end_frame(ended);
  }

  /// Copies budgets and recent offences. Returns false if out of memory.
  [[nodiscard]] bool copy(FrameNumber frame, FrameHistory& history) const noexcept;

 private:
  /// A budget's index plus 2, or one of the constants below.
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

  /// Returns the entry of `tag`'s budget, or else of the innermost enclosing tag that has a budget.
  [[nodiscard]] Place find_nearest(TagId tag) const noexcept;

  void report(const BudgetOffence& offence, Budget::OnOffence on_offence) noexcept;

  std::atomic<std::size_t> count_{0};
  std::array<TagId, kMaxCount> tags_{};
  /// For each budget, the nearest budget of an enclosing tag.
  std::array<Place, kMaxCount> outer_{};
  ZeroedArray<std::atomic<Place>, kTags> nearest_;
  std::array<Budget, kMaxCount> budgets_{};
  FutexLock offences_lock_;
  std::array<BudgetOffence, kKeptOffences> last_offences_{};
  std::uint64_t offences_ = 0;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/game/impl/budget_table.hpp"
#endif
