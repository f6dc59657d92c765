/// Scopes that count their thread's allocations, their observer, and the table of offences.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "alloctap/annotate.h"
#include "alloctap/event/stack_identity.hpp"
#include "alloctap/game/scope_stack.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/observe/observer.hpp"
#include "alloctap/os/file.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/futex_lock.hpp"
#include "alloctap/runtime/static_objects.hpp"
#include "alloctap/snapshot/snapshot.hpp"

namespace alloctap {

/// The functions that `no_allocation_scope` and `allocations_allowed` call. Control plane.
struct ScopeAnnotations {
  static void begin(alloctap_scope* scope, const char* name, std::size_t length,
                    const alloctap_scope_options* options) noexcept;

  static int end(const alloctap_scope* scope) noexcept;

  static int offends(const alloctap_scope* scope) noexcept {
    return node_of(*scope)->offends() ? 1 : 0;
  }

  static void begin_exception(alloctap_scope* scope) noexcept {
    push(*scope, "allowed", kAllAllowed, ScopeNode::State::kBarrier);
  }

 private:
  static constexpr AllocationLimit kNothingAllowed{.allowed = 0};
  static constexpr AllocationLimit kAllAllowed{};

  static void push(alloctap_scope& scope, std::string_view name, const AllocationLimit& limit,
                   ScopeNode::State state) noexcept;

  static ScopeNode* node_of(const alloctap_scope& scope) noexcept {
    return static_cast<ScopeNode*>(scope.node);
  }
};

}  // namespace alloctap

/// The function table for scopes of annotate.h.
extern "C" ALLOCTAP_EXPORT inline constexpr alloctap_scope_functions alloctap_scopes{
    .size = sizeof(alloctap_scope_functions),
    .begin = &alloctap::ScopeAnnotations::begin,
    .end = &alloctap::ScopeAnnotations::end,
    .offends = &alloctap::ScopeAnnotations::offends,
    .begin_exception = &alloctap::ScopeAnnotations::begin_exception,
};

namespace alloctap {

/// A table of offences: allocations and frees that violated no-allocation scopes. Has a row for
/// each pair of scope name and stack, at most `kMaxCount`, in order of first occurrence.
/// Thread-safe, fork-safe; constant-initialized, never destroyed. Control plane.
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

  /// Copies all offences to `snapshot`. Requires a stopped world. Returns false if out of memory.
  [[nodiscard]] bool add_to(Snapshot& snapshot) const noexcept;

  /// Returns how often the table was too full to add a scope and stack.
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

/// An observer for one tracker, alone or combined with other observers. Counts each recorded event
/// in the open scopes of its thread, whichever code allocates. A reallocation counts as a free and
/// an allocation. Runs inside malloc.
struct AllocationScopes {
  static constexpr ObserverFeatures features{
      .on_start = true, .on_stop = true, .add_to = true, .offer = true};

  static void on_start() noexcept { watchers_.fetch_add(1, std::memory_order_relaxed); }
  static void on_stop() noexcept { watchers_.fetch_sub(1, std::memory_order_relaxed); }

  [[nodiscard]] static bool add_to(Snapshot& snapshot) noexcept {
    return scope_offences.add_to(snapshot);
  }
  static void offer(alloctap_slots& slots) noexcept { slots.scopes = &alloctap_scopes; }

  /// Returns true while a tracker with this observer has a session. Without one, scopes count
  /// nothing.
  [[nodiscard]] static bool watched() noexcept {
    return watchers_.load(std::memory_order_relaxed) > 0;
  }

  ALLOCTAP_ALWAYS_INLINE static void on_track(const ObservedBlock& block) noexcept {
    if (ScopeStack* scopes = ScopeStack::get_if_exists()) {
      scopes->for_each_open([&](ScopeNode& node) { note_allocation(node, block); });
    }
  }

  ALLOCTAP_ALWAYS_INLINE static void on_untrack(const ObservedBlock& block) noexcept {
    if (ScopeStack* scopes = ScopeStack::get_if_exists()) {
      scopes->for_each_open([&](ScopeNode& node) { note_free(node, block); });
    }
  }

 private:
  static void add(std::atomic<std::uint64_t>& sum, std::uint64_t number) noexcept {
    sum.store(sum.load(std::memory_order_relaxed) + number, std::memory_order_relaxed);
  }

  static void note_allocation(ScopeNode& node, const ObservedBlock& block) noexcept {
    add(node.allocations, 1);
    add(node.bytes, block.size);
    node.stacks.add(block.stack, {.allocations = 1, .bytes = block.size});
    if (node.sums().allocations > node.limit->allowed) offend(node, block, false);
  }

  static void note_free(ScopeNode& node, const ObservedBlock& block) noexcept {
    add(node.frees, 1);
    if (!node.limit->forbids_frees) return;
    node.stacks.add(block.stack, {.frees = 1});
    offend(node, block, true);
  }

  static void offend(const ScopeNode& node, const ObservedBlock& block, bool is_free) noexcept {
    if (node.limit->on_offence != nullptr) {
      const AllocationSums sums = node.sums();
      const alloctap_offence offence{.scope = node.name.data(),
                                     .scope_length = node.name.size(),
                                     .block = block.pointer,
                                     .bytes = block.size,
                                     .stack = block.stack,
                                     .is_free = is_free ? 1 : 0,
                                     .allocations = sums.allocations,
                                     .frees = sums.frees};
      node.limit->on_offence(&offence);
    }
    if (!node.limit->aborts) return;
    constexpr int kStandardError = 2;
    os::write_all(kStandardError, "alloctap: the program ends because it ");
    os::write_all(kStandardError, is_free ? "gave back" : "allocated");
    os::write_all(kStandardError, " memory in the scope \"");
    os::write_all(kStandardError, node.name);
    os::write_all(kStandardError, "\", which forbids it; this call stands below in the stack\n");
    std::abort();
  }

  static inline constinit std::atomic<int> watchers_{0};
};

static_assert(Observer<AllocationScopes>);

/// A scope guard that counts allocations and frees of its thread. Requires `AllocationScopes` among
/// the observers of a tracker that has a session. Scopes nest; the counts of an outer scope include
/// those of inner scopes. Allocations by other threads on behalf of the scope are not counted.
///
/// Scopes should end in LIFO order, on the thread that began them. A scope that ends before its
/// inner scopes, or on another thread, just stops counting. Costs a few stores. Control plane, not
/// for observers.
class AllocationScope {
 public:
  AllocationScope() noexcept {
    ScopeStack* const scopes = ScopeStack::mine();
    if (scopes != nullptr) place_ = scopes->push({}, &kNoLimit, ScopeNode::State::kOpen);
  }
  ~AllocationScope() {
    if (place_.node != nullptr) ScopeStack::end(place_);
  }
  AllocationScope(const AllocationScope&) = delete;
  AllocationScope& operator=(const AllocationScope&) = delete;

  [[nodiscard]] AllocationSums sums() const noexcept {
    return place_.node == nullptr ? AllocationSums{} : place_.node->sums();
  }
  [[nodiscard]] std::uint64_t allocations() const noexcept { return sums().allocations; }

  /// Returns true if the scope counts events. This requires `AllocationScopes::watched`, memory for
  /// the scope, and fewer than `ScopeStack::kMaxScopes` enclosing scopes.
  [[nodiscard]] bool counts() const noexcept {
    return place_.node != nullptr && AllocationScopes::watched();
  }

  /// Calls `visit(StackId, const AllocationSums&)` for each stack that has allocated in the scope.
  /// Ids refer to the tracker with the observer. Call on the scope's thread; `visit` must not
  /// allocate.
  template <class Visit>
  void for_each_stack(Visit&& visit) const {
    if (place_.node == nullptr) return;
    place_.node->stacks.for_each(
        [&](const StackCounts::Entry& entry) { visit(entry.stack, entry.sums); });
  }

 private:
  static constexpr AllocationLimit kNoLimit{};

  ScopePlace place_;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/game/impl/allocation_scopes.hpp"
#endif
