/// Computes game frames and their tags from per-thread rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>

#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/by_tag.hpp"
#include "alloctap/snapshot/frame_history.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// Computes the tags and sums of a snapshot's game frames from its per-thread rows. Works
/// backwards: held bytes at a frame's end are the live bytes now minus all later changes.
class GameFrameRows {
 public:
  /// Stores a reference to `snapshot`. Precondition: its stacks and totals are complete.
  explicit GameFrameRows(Snapshot& snapshot) noexcept
      : snapshot_(snapshot), history_(snapshot.frames) {}

  /// Fills `last` and `tags`. Returns false if out of memory.
  [[nodiscard]] bool finish() {
    if (!history_.known) return true;
    if (!begin_with_live()) return false;
    std::sort(history_.rows.begin(), history_.rows.end(), [](const FrameRow& a, const FrameRow& b) {
      return std::tie(b.frame, a.tag) < std::tie(a.frame, b.tag);
    });
    const FrameRow* row = history_.rows.begin();
    for (std::size_t i = history_.last.size(); i > 0; --i) {
      FrameSummary& frame = history_.last[i - 1];
      row = undo_later(row, frame.number);
      row = add_rows(row, frame);
    }
    history_.rows = {};
    return complete_;
  }

 private:
  /// Sum over all threads of the rows for one tag in one game frame.
  struct Sum {
    TagId tag = kNoTag;
    FrameCounts counts{};
    std::uint64_t rise = 0;
  };

  bool begin_with_live() {
    const Result<ArenaArray<TagSummary>> sums = sum_by_tag(snapshot_);
    if (!sums.ok() || !held_.resize(sums->size())) return false;
    for (std::size_t i = 0; i < sums->size(); ++i) held_[i] = (*sums)[i].own.live_bytes;
    held_in_all_ = snapshot_.totals.live_bytes;
    return true;
  }

  [[nodiscard]] const FrameRow* end() const noexcept { return history_.rows.end(); }

  /// Sums the rows with the tag and game frame of `row`, and moves `row` behind the rows.
  Sum sum_up(const FrameRow*& row) const noexcept {
    const FrameRow first = *row;
    Sum sum{.tag = first.tag};
    for (; row != end() && row->frame == first.frame && row->tag == first.tag; ++row) {
      sum.counts += row->counts;
      sum.rise += row->rise;
    }
    return sum;
  }

  /// Subtracts rows of frames after `number` from `held_`. Returns the first row not subtracted.
  const FrameRow* undo_later(const FrameRow* row, FrameNumber number) noexcept {
    while (row != end() && row->frame > number) {
      const Sum sum = sum_up(row);
      go_back(held_of(sum.tag), sum.counts);
    }
    return row;
  }

  const FrameRow* add_rows(const FrameRow* row, FrameSummary& frame) noexcept {
    frame.held_bytes = frame.peak_bytes = held_in_all_;
    frame.first_tag = static_cast<std::uint32_t>(history_.tags.size());
    while (row != end() && row->frame == frame.number) {
      const Sum sum = sum_up(row);
      std::uint64_t& held = held_of(sum.tag);
      const std::uint64_t held_at_end = held;
      go_back(held, sum.counts);
      if (sum.tag == kAllTags) {
        frame.counts = sum.counts;
        frame.peak_bytes = std::max(held_at_end, held + sum.rise);
      } else {
        add_tag(sum, held_at_end, std::max(held_at_end, held + sum.rise));
      }
    }
    frame.tag_count = static_cast<std::uint32_t>(history_.tags.size()) - frame.first_tag;
    return row;
  }

  void add_tag(const Sum& sum, std::uint64_t held, std::uint64_t peak) noexcept {
    const bool is_one = sum.tag != kOtherTags;
    complete_ = history_.tags.push_back({.tag = sum.tag,
                                         .counts = sum.counts,
                                         .held_bytes = is_one ? held : 0,
                                         .peak_bytes = is_one ? peak : 0}) &&
                complete_;
  }

  /// Subtracts the net allocation of `counts` from `held`. Clamps at 0, because `held` would become
  /// negative after a free that the hook missed.
  static void go_back(std::uint64_t& held, const FrameCounts& counts) noexcept {
    held += counts.freed_bytes;
    held -= std::min(held, counts.allocated_bytes);
  }

  std::uint64_t& held_of(TagId tag) noexcept {
    if (tag == kAllTags) return held_in_all_;
    return tag < held_.size() ? held_[tag] : held_of_others_;
  }

  Snapshot& snapshot_;
  FrameHistory& history_;
  /// Held bytes, indexed by TagId.
  ArenaArray<std::uint64_t> held_;
  std::uint64_t held_in_all_ = 0;
  std::uint64_t held_of_others_ = 0;
  bool complete_ = true;
};

}  // namespace alloctap
