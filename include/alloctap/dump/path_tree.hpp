/// Paths that share their beginnings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "alloctap/runtime/arena_array.hpp"

namespace alloctap {

/// A tree whose nodes are steps below other nodes. Nodes are numbered in the order in which they
/// were made, so each one after its parent. Memory from the arena. Not thread-safe.
class PathTree {
 public:
  using Node = std::uint32_t;

  /// Where all paths start.
  static constexpr Node kRoot = 0;
  static constexpr Node kNone = ~Node{0};

  /// The node of `step` below `parent`, made when it is new. `kNone` where the system has no memory
  /// for it, and below `kNone`.
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

  /// The greatest number of a node; 0 if there is none but the root.
  [[nodiscard]] Node last() const noexcept { return static_cast<Node>(links_.size()); }

  /// Of a node that is not the root.
  [[nodiscard]] Node parent(Node node) const noexcept { return links_[node - 1].parent; }
  [[nodiscard]] std::uint32_t step(Node node) const noexcept { return links_[node - 1].step; }

 private:
  struct Link {
    Node parent = kRoot;
    std::uint32_t step = 0;
    friend bool operator==(const Link&, const Link&) noexcept = default;
  };

  static constexpr std::size_t kFirstSlots = 1024;

  /// Where the number of `link` is, or would be. Fibonacci hashing (Knuth, TAOCP 3, 6.4).
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

  /// Of the nodes but the root.
  ArenaArray<Link> links_;
  /// A power of two of them.
  ArenaArray<Node> slots_;
};

}  // namespace alloctap
