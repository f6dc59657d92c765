/// The stacks in a report that was saved.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/event/stack_owner.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/stack/stack_table.hpp"

namespace alloctap {

/// Stacks under ids of their own, in the order of those that they had. Not thread-safe.
class SavedStacks {
 public:
  /// Adds the stack that had the id `before`; false, and no change, where that is not above the one
  /// that was added last. Two stacks of one owner with the same addresses were of different
  /// modules: the earlier one is not to be found again.
  [[nodiscard]] bool add(std::uint64_t before, std::span<const std::uintptr_t> calls,
                         const StackOwner& owner) {
    if (!renamed_.empty() && renamed_.back().before >= before) return false;
    const StackId known = table_->find(hash_frames(calls).owned_by(owner));
    if (known != kNoStackId) table_->retire(known);
    complete_ = renamed_.push_back({before, table_->intern(calls, owner)}) && complete_;
    return true;
  }

  /// The id of the stack that had the id `before`; nothing where there was none. Those that are no
  /// stack's mean the same everywhere.
  [[nodiscard]] std::optional<StackId> find(std::uint64_t before) const noexcept {
    if (before == kUnknownStack || before == kStackNotTaken) return static_cast<StackId>(before);
    const Renamed* found = first_from(before);
    if (found == renamed_.end() || found->before != before) return std::nullopt;
    return found->now;
  }

  /// The id of the first stack that was kept not before the one that had the id `before`.
  [[nodiscard]] StackId id_from(std::uint64_t before) const noexcept {
    const Renamed* found = first_from(before);
    return found == renamed_.end() ? table_->end_id() : found->now;
  }

  [[nodiscard]] const StackTable& table() const noexcept { return *table_; }

  /// False: the system had no memory for all of them.
  [[nodiscard]] bool complete() const noexcept { return complete_; }

 private:
  struct Renamed {
    std::uint64_t before = 0;
    StackId now = kNoStackId;
  };

  [[nodiscard]] const Renamed* first_from(std::uint64_t before) const noexcept {
    return std::lower_bound(renamed_.begin(), renamed_.end(), before,
                            [](const Renamed& one, std::uint64_t id) { return one.before < id; });
  }

  std::unique_ptr<StackTable> table_ = std::make_unique<StackTable>();
  /// By the id that a stack had.
  ArenaArray<Renamed> renamed_;
  bool complete_ = true;
};

}  // namespace alloctap
