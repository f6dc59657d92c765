/// A table of offences: allocations and frees that violated no-allocation scopes.
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

/// Offences summed by scope and stack, in order of first occurrence; bounded. Thread-safe,
/// fork-safe; control plane. Constant-initialized, never destroyed.
class ScopeOffences {
 public:
  static constexpr std::size_t kMaxCount = 2048;

  constexpr ScopeOffences() noexcept = default;
  ScopeOffences(const ScopeOffences&) = delete;
  ScopeOffences& operator=(const ScopeOffences&) = delete;

  /// Adds the counts of `node`, a scope of the calling thread that was violated.
  void add(const ScopeNode& node) noexcept;

  /// Copies all offences to `list`. Returns false if out of memory.
  [[nodiscard]] bool copy_to(ArenaArray<OffenceSum>& list) const noexcept;

  /// Copies all offences to a snapshot while the world is stopped. Returns false if out of memory.
  [[nodiscard]] bool add_to(Snapshot& snapshot) const noexcept;

  /// Returns the number of offences dropped because the table was full.
  [[nodiscard]] std::uint64_t left_out() const noexcept;

  void clear() noexcept;

 private:
  void add(std::string_view name, const StackCounts::Entry& entry) noexcept;

  OffenceSum* find_or_add(std::string_view name, StackId stack) noexcept;

  mutable FutexLock lock_;
  ZeroedArray<OffenceSum, kMaxCount> sums_;
  std::size_t size_ = 0;
  std::uint64_t left_out_ = 0;
};

inline constinit ScopeOffences scope_offences;

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/game/impl/scope_offences.hpp"
#endif
