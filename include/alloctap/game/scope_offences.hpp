/// What was allocated where nothing should have been.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string_view>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/game/scope_stack.hpp"
#include "alloctap/game/stack_counts.hpp"
#include "alloctap/guard/arena_array.hpp"
#include "alloctap/guard/futex_lock.hpp"
#include "alloctap/guard/thread_state.hpp"
#include "alloctap/guard/zeroed_array.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/snapshot/offence_sum.hpp"
#include "alloctap/snapshot/snapshot.hpp"

namespace alloctap {

/// Offences by scope and stack, in the order in which they came first; bounded. Thread-safe, safe
/// around fork; not inside a hook. Constant-initialized, never destroyed.
class ScopeOffences {
 public:
  static constexpr std::size_t kMost = 2048;

  constexpr ScopeOffences() noexcept = default;
  ScopeOffences(const ScopeOffences&) = delete;
  ScopeOffences& operator=(const ScopeOffences&) = delete;

  /// Adds what `node`, of the calling thread, has counted.
  ALLOCTAP_NOINLINE void add(const ScopeNode& node) noexcept {
    // A fork waits for the section, and so finds the lock free.
    const RecordingSection section;
    const std::lock_guard hold(lock_);
    node.stacks.for_each([&](const StackCounts::Entry& entry) { add(node.name, entry); });
  }

  /// Those so far; false where the system has no memory for them.
  [[nodiscard]] bool copy_to(ArenaArray<OffenceSum>& list) const noexcept {
    const RecordingSection section;
    const std::lock_guard hold(lock_);
    for (std::size_t i = 0; i < size_; ++i) {
      if (!list.push_back(sums_[i])) return false;
    }
    return true;
  }

  /// Puts them into a snapshot, behind the closed gate, so that none is added meanwhile. Returns
  /// false if the system has no memory for them.
  [[nodiscard]] bool add_to(Snapshot& snapshot) const noexcept {
    snapshot.scopes_known = true;
    snapshot.left_out_scope_offences = left_out_;
    for (std::size_t i = 0; i < size_; ++i) {
      if (!snapshot.scope_offences.push_back(sums_[i])) return false;
    }
    return true;
  }

  /// Of how many there was no room.
  [[nodiscard]] std::uint64_t left_out() const noexcept {
    const RecordingSection section;
    const std::lock_guard hold(lock_);
    return left_out_;
  }

  void clear() noexcept {
    const RecordingSection section;
    const std::lock_guard hold(lock_);
    size_ = 0;
    left_out_ = 0;
  }

 private:
  void add(std::string_view name, const StackCounts::Entry& entry) noexcept {
    OffenceSum* const known = find_or_add(name.substr(0, OffenceSum::kLongestName), entry.stack);
    if (known == nullptr) {
      ++left_out_;
      return;
    }
    ++known->scopes;
    known->sums.allocations += entry.sums.allocations;
    known->sums.bytes += entry.sums.bytes;
    known->sums.frees += entry.sums.frees;
  }

  OffenceSum* find_or_add(std::string_view name, StackId stack) noexcept {
    for (std::size_t i = 0; i < size_; ++i) {
      if (sums_[i].stack == stack && sums_[i].scope() == name) return &sums_[i];
    }
    if (size_ == kMost) return nullptr;
    OffenceSum& added = sums_[size_++];
    added = {};
    added.stack = stack;
    std::memcpy(added.name_text, name.data(), name.size());
    return &added;
  }

  mutable FutexLock lock_;
  ZeroedArray<OffenceSum, kMost> sums_;
  std::size_t size_ = 0;
  std::uint64_t left_out_ = 0;
};

/// Those of this process.
inline constinit ScopeOffences scope_offences;

}  // namespace alloctap
