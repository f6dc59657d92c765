/// The limits of one tag, and what is done where they are exceeded.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/macros.hpp"
#include "alloctap/snapshot/budget_summary.hpp"
#include "alloctap/tag/tag_table.hpp"

namespace alloctap {

/// What a tag may use, with all tags inside of it. 0 is a budget of nothing: the first allocation
/// exceeds it.
struct BudgetLimits {
  std::uint64_t held_bytes = kUnlimited;
  std::uint64_t allocations_per_frame = kUnlimited;
  std::uint64_t bytes_per_frame = kUnlimited;
  /// What the tag holds when its first budget is set, as `by_tag` tells it: from then on each block
  /// counts that comes and goes. Nothing to say where budgets are set before the tag is used.
  std::uint64_t held_already = 0;
};

/// What is done where a limit is exceeded, beside telling of it in reports.
struct BudgetAction {
  /// Called inside malloc, on the thread that allocates, with the block already recorded: may
  /// allocate, which is not recorded; must not throw, mark a frame, set a budget, begin a scope of
  /// a tag or wait for what another thread holds while that allocates. nullptr: nothing.
  /// `abort_on_offence` ends the program.
  void (*on_offence)(const BudgetOffence& offence) noexcept = nullptr;
};

/// Room for a line about an offence.
using OffenceLine = std::array<char, 400>;
static_assert(TagTable::kLongestName + 150 < OffenceLine{}.size());

/// What `abort_on_offence` says of an offence, written to `line`.
[[nodiscard]] std::string_view describe_offence(const BudgetOffence& offence,
                                                OffenceLine& line) noexcept;

/// The hard action: says what was exceeded on standard error, and aborts.
[[noreturn]] void abort_on_offence(const BudgetOffence& offence) noexcept;

/// A budget as it is kept: numbers that all threads of the tag add to. Thread-safe, inside malloc,
/// but for `set` and `end_frame`, which one thread at a time calls. Begins as zeros.
class alignas(64) Budget {
 public:
  using OnOffence = void (*)(const BudgetOffence&) noexcept;

  void set(const BudgetLimits& limits, const BudgetAction& action, bool is_new) noexcept;

  /// Counts a block of `bytes` in `frame`, and calls `offend(kind, limit, value)` for each limit
  /// that it is the first to exceed: of what is held, once for each time that it rises above; of
  /// all, at most once in a frame.
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
      // Before the first mark the program loads.
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

  /// What was freed and had come before the budget makes it negative.
  static std::uint64_t positive(std::uint64_t number) noexcept {
    return static_cast<std::int64_t>(number) < 0 ? 0 : number;
  }

  std::uint64_t add(std::size_t kind, std::uint64_t more) noexcept {
    return used_[kind].fetch_add(more, std::memory_order_relaxed) + more;
  }

  /// Who ends a frame may have seen more than the caller has.
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

  // By `BudgetKind`; sums since the budget was set first.
  std::array<Number, kBudgetKinds> used_{};
  std::array<Number, kBudgetKinds> at_begin_{};
  std::array<Number, kBudgetKinds> limits_{};
  std::array<Number, kBudgetKinds> most_{};
  std::array<Number, kBudgetKinds> offences_{};
  /// One more than the number of the frame.
  std::array<Number, kBudgetKinds> last_offence_{};
  std::atomic<OnOffence> on_offence_{nullptr};
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/game/impl/budget.hpp"
#endif
