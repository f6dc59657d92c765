/// A report's stacks as paths in a trie (prefix tree) of calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "alloctap/dump/dump_policy.hpp"
#include "alloctap/dump/export/frame_labels.hpp"
#include "alloctap/runtime/arena_array.hpp"

namespace alloctap {

/// Trie whose edges are 32-bit steps. Nodes are numbered in the order of creation, so that a node's
/// number is greater than its parent's. Uses arena memory. Not thread-safe.
class PathTree {
 public:
  using Node = std::uint32_t;

  static constexpr Node kRoot = 0;
  static constexpr Node kNone = ~Node{0};

  /// Returns the child of `parent` for `step`; creates the child if it does not exist. Returns
  /// `kNone` if out of memory or if `parent` is `kNone`.
  [[nodiscard]] Node below(Node parent, std::uint32_t step) noexcept {
    if (parent == kNone) return kNone;
    if ((links_.size() + 1) * 2 > slots_.size() && !grow()) return kNone;
    Node& slot = slot_of({parent, step});
    if (slot == kRoot) {
      if (!links_.push_back({parent, step})) return kNone;
      slot = static_cast<Node>(links_.size());
    }
    return slot;
  }

  /// Returns the greatest node number; 0 if only the root exists.
  [[nodiscard]] Node last() const noexcept { return static_cast<Node>(links_.size()); }

  /// Precondition of `parent` and `step`: `node` is not the root.
  [[nodiscard]] Node parent(Node node) const noexcept { return links_[node - 1].parent; }
  [[nodiscard]] std::uint32_t step(Node node) const noexcept { return links_[node - 1].step; }

 private:
  struct Link {
    Node parent = kRoot;
    std::uint32_t step = 0;
    friend bool operator==(const Link&, const Link&) noexcept = default;
  };

  static constexpr std::size_t kFirstSlots = 1024;

  /// Returns the slot of `link`, free if `link` is new. Fibonacci hashing (Knuth, TAOCP 3, 6.4).
  Node& slot_of(const Link& link) noexcept {
    const std::uint64_t key = std::uint64_t{link.parent} << 32 | link.step;
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = static_cast<std::size_t>((key * 0x9E3779B97F4A7C15) >> 24) & mask;
    while (slots_[at] != kRoot && links_[slots_[at] - 1] != link) at = (at + 1) & mask;
    return slots_[at];
  }

  bool grow() noexcept {
    ArenaArray<Node> larger;
    if (!larger.resize(slots_.empty() ? kFirstSlots : slots_.size() * 2)) return false;
    slots_ = std::move(larger);
    for (Node i = 0; i < links_.size(); ++i) slot_of(links_[i]) = i + 1;
    return true;
  }

  /// All nodes but the root: node `n` is at index `n - 1`.
  ArenaArray<Link> links_;
  /// Open-addressing hash table of nodes; its size is a power of two.
  ArenaArray<Node> slots_;
};

/// Prefix tree of call stacks. A step is a call's number in the `FrameList`, or one of two
/// placeholders for stacks without frames. Uses arena memory. The report must outlive this object.
class CallPaths {
 public:
  explicit CallPaths(const Report& report) noexcept : report_(report), labels_(report) {}

  /// Returns false if memory for the frames ran out. No other member may then be called.
  [[nodiscard]] bool complete() const noexcept { return labels_.complete(); }

  /// Adds the path of `stack` from the thread's start to the allocation. Returns the path's last
  /// node, or `PathTree::kNone` if out of memory.
  [[nodiscard]] PathTree::Node add_root_first(StackId stack) noexcept {
    const auto frames = report_.snapshot.table->frames(stack);
    PathTree::Node node = PathTree::kRoot;
    for (std::size_t i = frames.size(); i-- > 0;) node = below(node, stack, frames[i]);
    return frames.empty() ? tree_.below(node, stand_in(stack)) : node;
  }

  /// Adds the path of `stack` from the allocation outward, cut after `max_calls` calls. Returns
  /// the path's last node, or `PathTree::kNone` if out of memory.
  [[nodiscard]] PathTree::Node add_leaf_first(StackId stack, std::size_t max_calls) noexcept {
    const auto frames = report_.snapshot.table->frames(stack);
    PathTree::Node node = PathTree::kRoot;
    for (std::size_t i = 0; i < frames.size() && i < max_calls; ++i) {
      node = below(node, stack, frames[i]);
    }
    return frames.empty() ? tree_.below(node, stand_in(stack)) : node;
  }

  [[nodiscard]] const PathTree& tree() const noexcept { return tree_; }

  /// Returns the number of distinct calls, including the two placeholders.
  [[nodiscard]] std::size_t calls() const noexcept { return labels_.list().size() + 2; }

  /// Returns a call's address and module. A placeholder has address 0 and no module.
  [[nodiscard]] CodeAddress place(std::size_t call) const noexcept {
    return call < labels_.list().size() ? labels_.list().place(call) : CodeAddress{};
  }

  /// Calls `visit(const LabelledFrame&)` for each function at a call's address, innermost first.
  template <class Visit>
  void visit_functions(std::size_t call, Visit&& visit) const {
    if (call < labels_.list().size()) {
      for (const LabelledFrame& frame : labels_.at(call)) visit(frame);
    } else {
      const bool unknown = call == labels_.list().size();
      labels_.visit_leaf_first(unknown ? kUnknownStack : kStackNotTaken, visit);
    }
  }

 private:
  PathTree::Node below(PathTree::Node node, StackId stack, std::uintptr_t frame) noexcept {
    return tree_.below(node, static_cast<std::uint32_t>(labels_.list().index_of(stack, frame)));
  }

  [[nodiscard]] std::uint32_t stand_in(StackId stack) const noexcept {
    const std::size_t unknown = labels_.list().size();
    return static_cast<std::uint32_t>(stack == kStackNotTaken ? unknown + 1 : unknown);
  }

  const Report& report_;
  FrameLabels labels_;
  PathTree tree_;
};

}  // namespace alloctap
