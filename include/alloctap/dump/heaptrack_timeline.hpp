/// The event log in heaptrack's text format.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "alloctap/dump/heaptrack_lines.hpp"
#include "alloctap/dump/heaptrack_times.hpp"
#include "alloctap/dump/heaptrack_traces.hpp"
#include "alloctap/dump/path_tree.hpp"
#include "alloctap/meta/flat_hash_table.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/snapshot.hpp"

namespace alloctap {

/// Numbers pairs of block size and trace. Writes an `a` line at the first use of a pair. Never uses
/// number 0, because heaptrack counts a `- 0` after another `-` as temporary. Uses arena memory.
class HeaptrackKinds {
 public:
  static constexpr std::uint32_t kNone = 0;

  explicit HeaptrackKinds(HeaptrackLines lines) noexcept : lines_(lines) {}

  /// Returns the pair's number, or `kNone` if out of memory.
  [[nodiscard]] std::uint32_t number_of(std::uint64_t size, PathTree::Node trace) {
    const PathTree::Node pair = node_of(size, trace);
    if (pair == PathTree::kNone || !numbers_.resize(pairs_.last() + std::size_t{1})) return kNone;
    if (numbers_[pair] == kNone) {
      if (last_ == 0) lines_.line('a', size, trace);
      lines_.line('a', size, trace);
      numbers_[pair] = ++last_;
    }
    return numbers_[pair];
  }

 private:
  /// Returns the trie node of a pair. A step has 32 bits, so a size of more bits takes two steps.
  [[nodiscard]] PathTree::Node node_of(std::uint64_t size, PathTree::Node trace) {
    const PathTree::Node low =
        pairs_.below(pairs_.below(PathTree::kRoot, trace), static_cast<std::uint32_t>(size));
    return size >> 32 == 0 ? low : pairs_.below(low, static_cast<std::uint32_t>(size >> 32));
  }

  HeaptrackLines lines_;
  PathTree pairs_;
  /// Indexed by trie node: the pair's number, or `kNone` if the node is no pair.
  ArenaArray<std::uint32_t> numbers_;
  std::uint32_t last_ = 0;
};

/// Writes logged allocations and frees of known blocks in order, with times. A reallocation becomes
/// a free and an allocation; a failed reallocation is omitted, as in heaptrack. If the log lacks a
/// block's free, writes the free at the address's next allocation. Uses arena memory.
class HeaptrackTimeline {
 public:
  /// `traces.write()` must have been called. All arguments must belong to one report.
  HeaptrackTimeline(const Snapshot& snapshot, const HeaptrackTraces& traces,
                    HeaptrackLines lines) noexcept
      : snapshot_(snapshot), traces_(traces), lines_(lines), kinds_(lines) {}
  HeaptrackTimeline(const HeaptrackTimeline&) = delete;
  HeaptrackTimeline& operator=(const HeaptrackTimeline&) = delete;
  ~HeaptrackTimeline() { live_.release(); }

  /// Returns false if out of memory.
  [[nodiscard]] bool write() {
    if (!list_traces() || !find_cancelled()) return false;
    HeaptrackTimes times(snapshot_, lines_, first_ns_);
    const bool merged = snapshot_.events.for_each([&](const LoggedEvent& event) {
      times.advance(event.time_ns);
      write(event);
    });
    times.write_points();
    return merged && complete_;
  }

 private:
  /// The kDetach event of a reallocation that may still fail.
  struct Detached {
    std::uint64_t sequence = 0;
    std::uintptr_t address = 0;
  };

  bool list_traces() noexcept {
    if (!trace_of_.resize(snapshot_.table->end_id())) return false;
    for (std::size_t i = 0; i < snapshot_.stacks.size(); ++i) {
      trace_of_[snapshot_.stacks[i].stack] = traces_.trace(i);
    }
    return true;
  }

  /// Finds failed reallocations: a thread's kDetach and then kPutBack of one address.
  bool find_cancelled() {
    ArenaArray<Detached> by_thread;
    const bool merged = snapshot_.events.for_each([&](const LoggedEvent& event) {
      if (event.sequence == 0) first_ns_ = event.time_ns;
      if (event.kind != LoggedKind::kDetach && event.kind != LoggedKind::kPutBack) return;
      if (event.thread >= by_thread.size() && !by_thread.resize(std::size_t{event.thread} + 1)) {
        complete_ = false;
        return;
      }
      Detached& last = by_thread[event.thread];
      if (event.kind == LoggedKind::kDetach) {
        last = {event.sequence, event.address};
      } else if (last.address == event.address) {
        complete_ = cancelled_.push_back(last.sequence) && complete_;
      }
    });
    std::sort(cancelled_.begin(), cancelled_.end());
    return merged && complete_;
  }

  /// Returns whether the reallocation of `event` failed. Call it in ascending order of sequence.
  bool is_cancelled(const LoggedEvent& event) noexcept {
    const bool found =
        next_cancelled_ < cancelled_.size() && cancelled_[next_cancelled_] == event.sequence;
    next_cancelled_ += found ? 1 : 0;
    return found;
  }

  void write(const LoggedEvent& event) {
    if (!complete_ || event.kind == LoggedKind::kPutBack) return;
    if (event.kind == LoggedKind::kDetach && is_cancelled(event)) return;
    const auto* block = reinterpret_cast<const void*>(event.address);
    write_free(live_.take(block));
    if (event.kind != LoggedKind::kAllocation) return;
    const std::uint32_t kind = kinds_.number_of(event.size, trace_of_[event.stack]);
    complete_ = kind != HeaptrackKinds::kNone && live_.insert(block, {.stack = kind}).kept;
    lines_.line('+', kind);
  }

  /// Writes the free of a block. In `live_`, `BlockRecord::stack` is the block's `a` line.
  void write_free(const BlockRecord& block) {
    if (block.stack != kNoStackId) lines_.line('-', block.stack);
  }

  const Snapshot& snapshot_;
  const HeaptrackTraces& traces_;
  HeaptrackLines lines_;
  HeaptrackKinds kinds_;
  FlatHashTable live_;
  /// Indexed by StackId.
  ArenaArray<PathTree::Node> trace_of_;
  /// The sequence numbers of reallocations that failed, ascending.
  ArenaArray<std::uint64_t> cancelled_;
  std::size_t next_cancelled_ = 0;
  std::int64_t first_ns_ = 0;
  bool complete_ = true;
};

}  // namespace alloctap
