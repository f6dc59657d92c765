/// What was allocated where nothing should have been.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/game/scope_stack.hpp"
#include "alloctap/game/stack_counts.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/futex_lock.hpp"
#include "alloctap/runtime/zeroed_array.hpp"
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
  void add(const ScopeNode& node) noexcept;

  /// Those so far; false where the system has no memory for them.
  [[nodiscard]] bool copy_to(ArenaArray<OffenceSum>& list) const noexcept;

  /// Puts them into a snapshot, behind the closed gate, so that none is added meanwhile. Returns
  /// false if the system has no memory for them.
  [[nodiscard]] bool add_to(Snapshot& snapshot) const noexcept;

  /// Of how many there was no room.
  [[nodiscard]] std::uint64_t left_out() const noexcept;

  void clear() noexcept;

 private:
  void add(std::string_view name, const StackCounts::Entry& entry) noexcept;

  OffenceSum* find_or_add(std::string_view name, StackId stack) noexcept;

  mutable FutexLock lock_;
  ZeroedArray<OffenceSum, kMost> sums_;
  std::size_t size_ = 0;
  std::uint64_t left_out_ = 0;
};

/// Those of this process.
inline constinit ScopeOffences scope_offences;

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/game/impl/scope_offences.hpp"
#endif
