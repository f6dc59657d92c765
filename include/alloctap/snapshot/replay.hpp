/// Replays an event log.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "alloctap/event/logged_event.hpp"
#include "alloctap/meta/flat_hash_index.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/snapshot.hpp"

namespace alloctap {

/// A test oracle: applies the events of a snapshot to an empty block table, by the tracker's rules
/// but with independent code. The results are the numbers that the tracker should have counted. The
/// peak is computed from the logging order. Control plane; allocates in the arena. Runs once.
class Replay {
 public:
  Replay() noexcept = default;
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;
  ~Replay() { blocks_.release(); }

  /// Replays the events of `snapshot`. Returns false if out of memory.
  [[nodiscard]] bool run(const Snapshot& snapshot) {
    complete_ = stacks_.resize(snapshot.table->end_id());
    return complete_ && snapshot.events.for_each([this](const LoggedEvent& event) {
      if (complete_) apply(event);
    }) && complete_;
  }

  [[nodiscard]] const Totals& totals() const noexcept { return totals_; }
  [[nodiscard]] std::uint64_t unmatched_frees() const noexcept { return unmatched_frees_; }
  [[nodiscard]] std::uint64_t unseen_frees() const noexcept { return unseen_frees_; }
  /// Returns the number of threads that have events.
  [[nodiscard]] std::uint64_t threads() const noexcept { return thread_count_; }
  /// Returns the number of threads that may still be reallocating their last block, because the end
  /// of a reallocation is no event. The tracker counts such a block as temporary when the
  /// reallocation ends; the replay has counted it already.
  [[nodiscard]] std::uint64_t open_reallocations() const noexcept {
    return static_cast<std::uint64_t>(
        std::count_if(threads_.begin(), threads_.end(),
                      [](const Last& last) { return last.state == Last::kDetached; }));
  }
  /// Returns an upper bound of the bytes that are logged but not yet counted. Each thread has at
  /// most one uncounted event, so the bound is the sum of the largest event of each thread.
  [[nodiscard]] std::uint64_t most_bytes_under_way() const noexcept {
    std::uint64_t bytes = 0;
    for (const Last& last : threads_) bytes += last.largest;
    return bytes;
  }
  /// Returns the sums of a stack. Precondition: the snapshot contains the stack.
  [[nodiscard]] const StackSummary& of(StackId stack) const noexcept { return stacks_[stack]; }

 private:
  /// The last allocation of a thread, and whether it is live, freed, or being reallocated.
  struct Last {
    std::uintptr_t address = 0;
    StackId stack = kNoStackId;
    enum : std::uint8_t { kNone, kThere, kDetached } state = kNone;
    bool seen = false;
    /// The largest event of the thread, in bytes.
    std::uint64_t largest = 0;
  };

  void apply(const LoggedEvent& event) {
    if (event.thread >= threads_.size() && !threads_.resize(std::size_t{event.thread} + 1)) {
      complete_ = false;
      return;
    }
    Last& last = threads_[event.thread];
    thread_count_ += last.seen ? 0 : 1;
    last.seen = true;
    switch (event.kind) {
      case LoggedKind::kAllocation:
        return allocate(event, last);
      case LoggedKind::kDeallocation:
        take(event, last);
        return note_free(event, last);
      case LoggedKind::kDetach:
        if (take(event, last)) detach(event, last);
        return;
      case LoggedKind::kPutBack:
        return put_back(event, last);
    }
  }

  void allocate(const LoggedEvent& event, Last& last) {
    StackSummary& stack = stacks_[event.stack];
    ++totals_.allocations;
    ++stack.total.allocations;
    totals_.allocated_bytes += event.size;
    stack.total.allocated_bytes += event.size;
    last.address = event.address;
    last.stack = event.stack;
    last.state = Last::kThere;
    insert(event, last);
  }

  /// Adds a block. An older block at the address counts as freed by a call that the hook missed.
  void insert(const LoggedEvent& event, Last& last) {
    const InsertOutcome outcome =
        blocks_.insert(pointer_of(event), {.stack = event.stack, .size = event.size});
    complete_ = outcome.kept && complete_;
    StackSummary& stack = stacks_[event.stack];
    ++totals_.live_allocations;
    ++stack.live_allocations;
    totals_.live_bytes += event.size;
    stack.live_bytes += event.size;
    last.largest = std::max<std::uint64_t>(last.largest, event.size);
    totals_.peak_live_bytes = std::max(totals_.peak_live_bytes, totals_.live_bytes);
    if (outcome.replaced.stack == kNoStackId) return;
    ++unseen_frees_;
    count_gone(outcome.replaced, last);
  }

  bool take(const LoggedEvent& event, Last& last) {
    const BlockRecord record = blocks_.take(pointer_of(event));
    const bool known = record.stack != kNoStackId;
    if (known) count_gone(record, last);
    unmatched_frees_ += known ? 0 : 1;
    return known;
  }

  void count_gone(const BlockRecord& record, Last& last) {
    StackSummary& stack = stacks_[record.stack];
    ++totals_.deallocations;
    --totals_.live_allocations;
    --stack.live_allocations;
    totals_.live_bytes -= record.size;
    stack.live_bytes -= record.size;
    last.largest = std::max<std::uint64_t>(last.largest, record.size);
  }

  /// Counts the thread's last allocation as temporary if `event` frees it.
  void note_free(const LoggedEvent& event, Last& last) {
    if (last.state != Last::kThere || last.address != event.address) return;
    last.state = Last::kNone;
    add_temporary(last, 1);
  }

  void detach(const LoggedEvent& event, Last& last) {
    if (last.state != Last::kThere || last.address != event.address) return;
    last.state = Last::kDetached;
    add_temporary(last, 1);
  }

  void put_back(const LoggedEvent& event, Last& last) {
    --totals_.deallocations;
    insert(event, last);
    if (last.state != Last::kDetached || last.address != event.address) return;
    last.state = Last::kThere;
    add_temporary(last, ~std::uint64_t{0});
  }

  void add_temporary(const Last& last, std::uint64_t number) {
    totals_.temporary_allocations += number;
    stacks_[last.stack].total.temporary_allocations += number;
  }

  static const void* pointer_of(const LoggedEvent& event) noexcept {
    return reinterpret_cast<const void*>(event.address);
  }

  FlatHashTable blocks_;
  Totals totals_;
  std::uint64_t unmatched_frees_ = 0;
  std::uint64_t unseen_frees_ = 0;
  std::uint64_t thread_count_ = 0;
  /// Sums by StackId.
  ArenaArray<StackSummary> stacks_;
  /// Last allocations by `LoggedEvent::thread`.
  ArenaArray<Last> threads_;
  bool complete_ = true;
};

/// A number for which snapshot and replay differ.
struct ReplayDifference {
  std::string_view name;
  /// The stack of the number; `kNoStackId` for a sum over all stacks.
  StackId stack = kNoStackId;
  std::uint64_t recorded = 0;
  std::uint64_t replayed = 0;
};

/// Returns the permitted difference of peaks: 0 with one thread. Otherwise it is the sum of the
/// bound of `LiveBytes` and `most_bytes_under_way`. A thread may be preempted between logging and
/// counting an event while others reach the peak.
[[nodiscard]] inline std::uint64_t peak_tolerance(const Snapshot& snapshot,
                                                  const Replay& replay) noexcept {
  const std::uint64_t threads = std::max<std::uint64_t>(replay.threads(), snapshot.threads.size());
  if (threads <= 1) return 0;
  return std::max(snapshot.totals.peak_live_bytes / 512, 4096 * threads) +
         replay.most_bytes_under_way();
}

/// Calls `visit(const ReplayDifference&)` for each difference. Ignores differences of peaks within
/// `peak_tolerance`, and of unmatched frees if the snapshot has no number of them. Temporary
/// allocations may differ by `open_reallocations`. Temporary allocations are not compared after a
/// pause, because threads may have allocated during the pause.
template <class Visit>
void visit_replay_differences(const Snapshot& snapshot, const Replay& replay, Visit&& visit) {
  StackId stack = kNoStackId;
  const auto compare = [&](std::string_view name, std::uint64_t recorded, std::uint64_t replayed) {
    if (recorded != replayed) visit(ReplayDifference{name, stack, recorded, replayed});
  };
  const auto compare_temporary = [&](std::uint64_t recorded, std::uint64_t replayed) {
    const bool open = replayed >= recorded && replayed - recorded <= replay.open_reallocations();
    const bool paused = snapshot.account.pauses > 0;
    if (!open && !paused) compare("temporary allocations", recorded, replayed);
  };
  const Totals& recorded = snapshot.totals;
  const Totals& replayed = replay.totals();
  compare("allocations", recorded.allocations, replayed.allocations);
  compare("deallocations", recorded.deallocations, replayed.deallocations);
  compare("allocated bytes", recorded.allocated_bytes, replayed.allocated_bytes);
  compare("live allocations", recorded.live_allocations, replayed.live_allocations);
  compare("live bytes", recorded.live_bytes, replayed.live_bytes);
  compare_temporary(recorded.temporary_allocations, replayed.temporary_allocations);
  const std::uint64_t higher = std::max(recorded.peak_live_bytes, replayed.peak_live_bytes);
  const std::uint64_t lower = std::min(recorded.peak_live_bytes, replayed.peak_live_bytes);
  if (higher - lower > peak_tolerance(snapshot, replay)) {
    compare("peak of live bytes", recorded.peak_live_bytes, replayed.peak_live_bytes);
  }
  compare("frees not seen", snapshot.account.unseen_frees, replay.unseen_frees());
  if (snapshot.account.unmatched_frees) {
    compare("frees of unknown blocks", *snapshot.account.unmatched_frees, replay.unmatched_frees());
  }
  for (const StackSummary& summary : snapshot.stacks) {
    stack = summary.stack;
    const StackSummary& again = replay.of(stack);
    compare("allocations", summary.total.allocations, again.total.allocations);
    compare("allocated bytes", summary.total.allocated_bytes, again.total.allocated_bytes);
    compare("live allocations", summary.live_allocations, again.live_allocations);
    compare("live bytes", summary.live_bytes, again.live_bytes);
    compare_temporary(summary.total.temporary_allocations, again.total.temporary_allocations);
  }
}

}  // namespace alloctap
