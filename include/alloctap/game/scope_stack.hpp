/// The allocation scopes that a thread is in.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/annotate.h"
#include "alloctap/game/stack_counts.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/observe/observer.hpp"
#include "alloctap/os/thread_local.hpp"
#include "alloctap/runtime/per_thread.hpp"
#include "alloctap/runtime/thread_state.hpp"

namespace alloctap {

/// What a scope does about allocations beyond those that it allows.
struct AllocationLimit {
  /// So many are no offence.
  std::uint64_t allowed = ~std::uint64_t{0};
  /// Whether each free is an offence as well.
  bool forbids_frees = false;
  /// Whether the first offence ends the program, by std::abort, after a line on standard error.
  bool aborts = false;
  /// Told of each offence, on the thread that commits it, inside malloc, where it may allocate.
  void (*on_offence)(const alloctap_offence* offence) = nullptr;
};

/// What is counted for one scope. Read and written by its thread alone, and in memory that stays,
/// so that a scope which another thread ends by mistake hurts nobody. Numbers are atomic because
/// GCC takes malloc for a function that changes none of the program's variables.
struct ScopeNode {
  /// `kBarrier`: what is outside of it hears nothing of what is inside.
  enum class State : std::uint8_t { kEnded, kOpen, kBarrier };

  std::string_view name;
  /// `own_limit`, or one that stays as long as the program.
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

  /// From now on its limit is a copy of `copied`.
  void set_limit(const AllocationLimit& copied) noexcept {
    own_limit = copied;
    limit = &own_limit;
  }

  /// Whether more happened than its limit allows.
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

/// Where the node of a scope is.
struct ScopePlace {
  /// nullptr: it has none, and counts nothing.
  ScopeNode* node = nullptr;
  /// How many scopes are around it.
  std::uint32_t depth = 0;
};

/// Those of one thread, innermost last. Lives in the arena, and is handed on to a later thread.
class ScopeStack {
 public:
  /// Scopes inside of so many others count nothing.
  static constexpr std::uint32_t kMaxScopes = 64;

  /// The calling thread's, made if need be; nullptr where the system has no memory. Not inside
  /// malloc.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE static ScopeStack* mine() noexcept {
    ScopeStack* stack = slot().load(std::memory_order_relaxed);
    return stack != nullptr ? stack : make();
  }

  /// The calling thread's, where it has had a scope; else nullptr.
  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE static ScopeStack* get_if_exists() noexcept {
    return slot().load(std::memory_order_relaxed);
  }

  /// Begins a scope; `limit` stays as long as the program, or is set by the caller to the node's
  /// own before anything allocates. No place where there are `kMaxScopes`. `name` outlives it.
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

  /// Ends the scope at `place`, whichever thread does; the place is free once the scopes inside of
  /// it have ended, too, and its own thread comes by.
  ALLOCTAP_ALWAYS_INLINE static void end(const ScopePlace& place) noexcept {
    ScopeNode& node = *place.node;
    ScopeStack* const stack = get_if_exists();
    const bool is_usual = stack != nullptr && stack->is_innermost(node) && !node.has_counted();
    node.state.store(ScopeNode::State::kEnded, std::memory_order_relaxed);
    if (!is_usual) [[unlikely]] {
      if (stack != nullptr) stack->drop_ended();
      return;
    }
    // Known since the scope began: what comes next need not wait for what was stored then.
    stack->depth_.store(place.depth, std::memory_order_relaxed);
  }

  /// Calls `visit(ScopeNode&)` for each open one, the innermost first, up to a barrier. Inside
  /// malloc, on its thread.
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
    // The thread before may have ended in the middle of its scopes.
    while (stack->depth_.load(std::memory_order_relaxed) > 0) stack->drop_innermost();
    slot().store(stack, std::memory_order_relaxed);
    return stack;
  }

  /// Whether it is the last of this thread's, and the one around it is open.
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
