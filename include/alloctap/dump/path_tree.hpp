/// A trie (prefix tree) of paths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "alloctap/runtime/arena_array.hpp"

namespace alloctap {

/// Trie whose edges are 32-bit steps. Nodes are numbered in the order of creation, so that a node's
/// number is greater than its parent's. Uses arena memory. Not thread-safe.
class PathTree {
 public:
  using Node = std::uint32_t;

  /// The start of all paths.
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

}  // namespace alloctap
