/// The distinct frames of a snapshot, numbered.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "alloctap/guard/arena_array.hpp"
#include "alloctap/snapshot/snapshot.hpp"

namespace alloctap {

/// Every return address that occurs in the stacks of a snapshot, once, ascending. Memory from the
/// arena.
class FrameList {
 public:
  explicit FrameList(const Snapshot& snapshot) noexcept {
    for (const StackSummary& stack : snapshot.stacks) add(snapshot, stack.stack);
    for (const MappingSummary& mapping : snapshot.mappings) add(snapshot, mapping.stack);
    make_unique();
  }

  /// False: the system had no memory for all of them.
  [[nodiscard]] bool complete() const noexcept { return complete_; }

  /// The number of `frame`, which is in the list.
  [[nodiscard]] std::size_t index_of(std::uintptr_t frame) const noexcept {
    return static_cast<std::size_t>(std::lower_bound(begin(), end(), frame) - begin());
  }

  [[nodiscard]] const std::uintptr_t* begin() const noexcept { return frames_.begin(); }
  [[nodiscard]] const std::uintptr_t* end() const noexcept { return frames_.end(); }

 private:
  /// Duplicates go whenever they could fill half of the list, so it stays near its final size.
  void add(const Snapshot& snapshot, StackId stack) noexcept {
    for (const std::uintptr_t frame : snapshot.table->frames(stack)) {
      complete_ = frames_.push_back(frame) && complete_;
    }
    if (frames_.size() < next_cleaning_) return;
    make_unique();
    next_cleaning_ = std::max(kFirstCleaning, frames_.size() * 2);
  }

  void make_unique() noexcept {
    std::sort(frames_.begin(), frames_.end());
    const auto* end = std::unique(frames_.begin(), frames_.end());
    static_cast<void>(frames_.resize(static_cast<std::size_t>(end - frames_.begin())));
  }

  static constexpr std::size_t kFirstCleaning = 65536;

  ArenaArray<std::uintptr_t> frames_;
  std::size_t next_cleaning_ = kFirstCleaning;
  bool complete_ = true;
};

}  // namespace alloctap
