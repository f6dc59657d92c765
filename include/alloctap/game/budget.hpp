/// Memory limits of one tag, and the action if one is exceeded.
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

/// Limits of a tag, including nested tags. The first allocation exceeds a limit of 0.
struct BudgetLimits {
  std::uint64_t held_bytes = kUnlimited;
  std::uint64_t allocations_per_frame = kUnlimited;
  std::uint64_t bytes_per_frame = kUnlimited;
  /// Live bytes of the tag (see `by_tag`) when its first budget is set; later events adjust them.
  /// Leave at 0 if the budget is set before the tag is used.
  std::uint64_t held_already = 0;
};

/// The action if a limit is exceeded. Reports list each offence anyway.
struct BudgetAction {
  /// Called inside malloc, on the allocating thread, after the block was recorded. May allocate;
  /// that is not recorded. Must not throw, mark a frame, set a budget, enter a tag, or wait for a
  /// lock whose holder allocates. nullptr: no action. `abort_on_offence` aborts.
  void (*on_offence)(const BudgetOffence& offence) noexcept = nullptr;
};

/// A buffer for a one-line description of an offence.
using OffenceLine = std::array<char, 400>;
static_assert(TagTable::kLongestName + 150 < OffenceLine{}.size());

/// Writes the message of `abort_on_offence` to `line`, and returns it.
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

  /// Counts a block of `bytes` in `frame`. Calls `offend(kind, limit, value)` for each limit that
  /// this block exceeds first: at most once per frame and limit, and for live bytes only when they
  /// rise above the limit.
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
      // Before the first mark, the program is loading.
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

  /// Clamps at 0: frees of blocks that are older than the budget make the sum negative.
  static std::uint64_t positive(std::uint64_t number) noexcept {
    return static_cast<std::int64_t>(number) < 0 ? 0 : number;
  }

  std::uint64_t add(std::size_t kind, std::uint64_t more) noexcept {
    return used_[kind].fetch_add(more, std::memory_order_relaxed) + more;
  }

  /// The result is clamped: the thread that ended the frame may have read a newer sum than `used`.
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

  // Indexed by `BudgetKind`. `used_` counts since the first `set`.
  std::array<Number, kBudgetKinds> used_{};
  std::array<Number, kBudgetKinds> at_begin_{};
  std::array<Number, kBudgetKinds> limits_{};
  std::array<Number, kBudgetKinds> most_{};
  std::array<Number, kBudgetKinds> offences_{};
  /// Frame number plus one; 0 if there was no offence.
  std::array<Number, kBudgetKinds> last_offence_{};
  std::atomic<OnOffence> on_offence_{nullptr};
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/game/impl/budget.hpp"
#endif
