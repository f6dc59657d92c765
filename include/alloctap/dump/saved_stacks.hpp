/// Stacks read from a recording.
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

/// Stacks with new ids, in the order of their recorded ids. Not thread-safe.
class SavedStacks {
 public:
  /// Adds the stack with the recorded id `before`. Returns false without adding anything unless ids
  /// ascend. If an earlier stack has equal owner and addresses, the two stacks ran through
  /// different modules. Lookup by frames then no longer finds the earlier stack.
  [[nodiscard]] bool add(std::uint64_t before, std::span<const std::uintptr_t> calls,
                         const StackOwner& owner) {
    if (!renamed_.empty() && renamed_.back().before >= before) return false;
    const StackId known = table_->find(hash_frames(calls).owned_by(owner));
    if (known != kNoStackId) table_->retire(known);
    complete_ = renamed_.push_back({before, table_->intern(calls, owner)}) && complete_;
    return true;
  }

  /// Returns the new id of the stack with the recorded id `before`; nullopt if unknown. Ids of
  /// stacks without frames are constants and stay unchanged.
  [[nodiscard]] std::optional<StackId> find(std::uint64_t before) const noexcept {
    if (before == kUnknownStack || before == kStackNotTaken) return static_cast<StackId>(before);
    const Renamed* found = first_from(before);
    if (found == renamed_.end() || found->before != before) return std::nullopt;
    return found->now;
  }

  /// Returns the new id of the first stack whose recorded id is `before` or greater.
  [[nodiscard]] StackId id_from(std::uint64_t before) const noexcept {
    const Renamed* found = first_from(before);
    return found == renamed_.end() ? table_->end_id() : found->now;
  }

  [[nodiscard]] const StackTable& table() const noexcept { return *table_; }

  /// Returns false if out of memory.
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
  /// Sorted by recorded id.
  ArenaArray<Renamed> renamed_;
  bool complete_ = true;
};

}  // namespace alloctap
