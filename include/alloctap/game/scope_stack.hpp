/// The stack of a thread's open allocation scopes, and their counts per stack.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "alloctap/annotate.h"
#include "alloctap/event/stack_identity.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/observe/observer.hpp"
#include "alloctap/os/thread_local.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/per_thread.hpp"
#include "alloctap/runtime/thread_state.hpp"
#include "alloctap/snapshot/snapshot.hpp"

namespace alloctap {

/// A hash table from stacks to allocation sums, with open addressing, in the arena. Has at most
/// `kMaxStacks` stacks; further stacks count as `kNoStackId`. Not thread-safe; may run inside
/// malloc.
class StackCounts {
 public:
  static constexpr std::size_t kMaxStacks = 16'384;

  struct Entry {
    StackId stack = kNoStackId;
    AllocationSums sums;
  };

  constexpr StackCounts() noexcept = default;

  void add(StackId stack, const AllocationSums& sums) noexcept {
    AllocationSums& known = find_or_add(stack).sums;
    known.allocations += sums.allocations;
    known.bytes += sums.bytes;
    known.frees += sums.frees;
  }

  /// Removes all entries, but keeps the memory.
  void clear() noexcept {
    if (used_ > 0) {
      for (Entry& entry : entries_) entry = {};
    }
    used_ = 0;
    others_ = {};
  }

  /// Calls `visit(const Entry&)` for each stack that has sums.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const Entry& entry : entries_) {
      if (entry.stack != kNoStackId) visit(entry);
    }
    if (others_.sums.allocations + others_.sums.frees > 0) visit(others_);
  }

 private:
  static constexpr std::size_t kFirstCapacity = 32;

  Entry& find_or_add(StackId stack) noexcept {
    if (stack == kNoStackId) return others_;
    // Keeps the load factor at most 1/2, so that every probe sequence ends.
    const bool has_room = used_ * 2 < entries_.size() || grow();
    if (entries_.empty()) return others_;
    Entry& entry = place_of(entries_, stack);
    if (entry.stack == stack) return entry;
    if (!has_room) return others_;
    entry.stack = stack;
    ++used_;
    return entry;
  }

  static Entry& place_of(ArenaArray<Entry>& entries, StackId stack) noexcept {
    const std::size_t mask = entries.size() - 1;
    std::size_t at = (stack * std::size_t{0x9E3779B97F4A7C15} >> 32) & mask;
    while (entries[at].stack != kNoStackId && entries[at].stack != stack) at = (at + 1) & mask;
    return entries[at];
  }

  bool grow() noexcept {
    if (used_ >= kMaxStacks) return false;
    ArenaArray<Entry> larger;
    if (!larger.resize(entries_.empty() ? kFirstCapacity : entries_.size() * 2)) return false;
    for (const Entry& entry : entries_) {
      if (entry.stack != kNoStackId) place_of(larger, entry.stack) = entry;
    }
    entries_ = std::move(larger);
    return true;
  }

  ArenaArray<Entry> entries_;
  std::size_t used_ = 0;
  /// Sums of calls without a stack, and of stacks beyond the limit.
  Entry others_;
};

/// Limit of a scope, and the action if allocations exceed it.
struct AllocationLimit {
  /// Number of allocations that are permitted; each further one is an offence.
  std::uint64_t allowed = ~std::uint64_t{0};
  /// Makes each free an offence, too.
  bool forbids_frees = false;
  /// Prints the first offence to standard error and calls std::abort.
  bool aborts = false;
  /// Called for each offence, on the offending thread, inside malloc. May allocate.
  void (*on_offence)(const alloctap_offence* offence) = nullptr;
};

/// The counters of one scope, which only the scope's thread updates. The memory is never freed, so
/// ending a scope on the wrong thread corrupts nothing. The counters are atomic, because GCC
/// assumes that malloc does not modify the program's variables.
struct ScopeNode {
  /// `kBarrier` is an open scope that counts nothing and hides its events from enclosing scopes.
  enum class State : std::uint8_t { kEnded, kOpen, kBarrier };

  std::string_view name;
  /// Points to `own_limit` or to a static limit.
  const AllocationLimit* limit = nullptr;
  AllocationLimit own_limit;
  std::atomic<State> state{State::kEnded};
  std::atomic<std::uint64_t> allocations{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> frees{0};
  StackCounts stacks;

  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE bool has_counted() const noexcept {
    return (allocations.load(std::memory_order_relaxed) | frees.load(std::memory_order_relaxed)) !=
           0;
  }

  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE bool is_going_on() const noexcept {
    return state.load(std::memory_order_relaxed) != State::kEnded;
  }

  void forget() noexcept {
    if (!has_counted()) return;
    allocations.store(0, std::memory_order_relaxed);
    bytes.store(0, std::memory_order_relaxed);
    frees.store(0, std::memory_order_relaxed);
    stacks.clear();
  }

  /// Copies `copied` to `own_limit`, which becomes the scope's limit.
  void set_limit(const AllocationLimit& copied) noexcept {
    own_limit = copied;
    limit = &own_limit;
  }

  /// Returns true if the counts exceed the limit.
  [[nodiscard]] bool offends() const noexcept {
    if (!has_counted()) return false;
    const AllocationSums now = sums();
    return now.allocations > limit->allowed || (limit->forbids_frees && now.frees > 0);
  }

  [[nodiscard]] AllocationSums sums() const noexcept {
    return {.allocations = allocations.load(std::memory_order_relaxed),
            .bytes = bytes.load(std::memory_order_relaxed),
            .frees = frees.load(std::memory_order_relaxed)};
  }
};

/// A handle to a scope: the counters and the nesting depth.
struct ScopePlace {
  /// nullptr if the scope counts nothing.
  ScopeNode* node = nullptr;
  /// Number of enclosing scopes.
  std::uint32_t depth = 0;
};

/// The open scopes of one thread, innermost last. The object is in the arena; after its thread has
/// ended, another thread reuses it.
class ScopeStack {
 public:
  /// Maximum number of open scopes; more deeply nested scopes count nothing.
  static constexpr std::uint32_t kMaxScopes = 64;

  /// Returns the calling thread's object; creates it on first use. Returns nullptr if out of
  /// memory. Control plane.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE static ScopeStack* mine() noexcept {
    ScopeStack* stack = slot().load(std::memory_order_relaxed);
    return stack != nullptr ? stack : make();
  }

  /// Returns the calling thread's object; nullptr if the thread never had a scope.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE static ScopeStack* get_if_exists() noexcept {
    return slot().load(std::memory_order_relaxed);
  }

  /// Begins a scope. `limit` and `name` must outlive the scope; to copy a limit instead, call
  /// `set_limit` before the thread allocates. Returns an empty handle if `kMaxScopes` scopes are
  /// open.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE ScopePlace push(std::string_view name,
                                                       const AllocationLimit* limit,
                                                       ScopeNode::State state) noexcept {
    const std::uint32_t depth = depth_.load(std::memory_order_relaxed);
    if (depth == kMaxScopes) [[unlikely]] {
      return {};
    }
    ScopeNode& node = nodes_[depth];
    node.name = name;
    node.limit = limit;
    node.state.store(state, std::memory_order_relaxed);
    depth_.store(depth + 1, std::memory_order_relaxed);
    return {.node = &node, .depth = depth};
  }

  /// Ends the scope `place`. May be called on any thread. If the scope has open inner scopes or is
  /// another thread's, its node is reused only after a later `end` on its own thread.
  ALLOCTAP_ALWAYS_INLINE static void end(const ScopePlace& place) noexcept {
    ScopeNode& node = *place.node;
    ScopeStack* const stack = get_if_exists();
    const bool is_usual = stack != nullptr && stack->is_innermost(node) && !node.has_counted();
    node.state.store(ScopeNode::State::kEnded, std::memory_order_relaxed);
    if (!is_usual) [[unlikely]] {
      if (stack != nullptr) stack->drop_ended();
      return;
    }
    // Uses `place.depth` to avoid a dependency on the recent store to `depth_`.
    stack->depth_.store(place.depth, std::memory_order_relaxed);
  }

  /// Calls `visit(ScopeNode&)` for each open scope inside the innermost barrier, innermost first.
  /// Runs inside malloc, on the owning thread.
  template <class Visit>
  void for_each_open(Visit&& visit) noexcept {
    for (std::uint32_t i = depth_.load(std::memory_order_relaxed); i > 0; --i) {
      ScopeNode& node = nodes_[i - 1];
      const ScopeNode::State state = node.state.load(std::memory_order_relaxed);
      if (state == ScopeNode::State::kBarrier) return;
      if (state == ScopeNode::State::kEnded) continue;
      visit(node);
    }
  }

 private:
  struct Slot;
  static std::atomic<ScopeStack*>& slot() noexcept {
    return os::ThreadLocal<std::atomic<ScopeStack*>, Slot>::mine();
  }

  ALLOCTAP_NOINLINE static ScopeStack* make() noexcept {
    ThreadState* thread = ThreadStates::mine();
    ScopeStack* stack = thread == nullptr ? nullptr : PerThread<ScopeStack>::of(*thread);
    if (stack == nullptr) return nullptr;
    // The thread that used this object before may have ended with open scopes.
    while (stack->depth_.load(std::memory_order_relaxed) > 0) stack->drop_innermost();
    slot().store(stack, std::memory_order_relaxed);
    return stack;
  }

  /// Returns true if `node` is this thread's innermost scope and the enclosing scope, if any, is
  /// still open.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE bool is_innermost(const ScopeNode& node) const noexcept {
    const std::uint32_t depth = depth_.load(std::memory_order_relaxed);
    return depth > 0 && &node == &nodes_[depth - 1] &&
           (depth == 1 || nodes_[depth - 2].is_going_on());
  }

  ALLOCTAP_NOINLINE void drop_ended() noexcept {
    for (std::uint32_t depth = depth_.load(std::memory_order_relaxed);
         depth > 0 && !nodes_[depth - 1].is_going_on(); --depth) {
      drop_innermost();
    }
  }

  void drop_innermost() noexcept {
    const std::uint32_t depth = depth_.load(std::memory_order_relaxed) - 1;
    depth_.store(depth, std::memory_order_relaxed);
    nodes_[depth].forget();
  }

  std::atomic<std::uint32_t> depth_{0};
  ScopeNode nodes_[kMaxScopes];
};

}  // namespace alloctap
