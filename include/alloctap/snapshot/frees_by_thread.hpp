/// Which thread gave back what of which stack.
#pragma once

#include <cstdint>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/runtime/arena_array.hpp"

namespace alloctap {

/// What one thread gave back of one stack's blocks, since the start.
struct FreesByThread {
  StackId stack = kNoStackId;
  /// The thread that gave them back: its place in `Snapshot::threads`.
  std::uint32_t thread = 0;
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
};

/// How much a snapshot knows of who gave back what.
enum class FreedKnowledge : std::uint8_t {
  kNotAsked,
  kAll,
  /// The system had no memory to count some.
  kIncomplete,
  /// The tracker's queue applies events on other threads than those that called.
  kNotKnown,
  /// The tracker samples, and counts what it recorded alone.
  kSampled,
};

/// What a snapshot holds of it.
struct FreedByThread {
  FreedKnowledge knowledge = FreedKnowledge::kNotAsked;
  /// By thread, and for each by stack. Memory from the arena.
  ArenaArray<FreesByThread> blocks;

  /// Whether anything is to be copied.
  [[nodiscard]] bool is_available() const noexcept {
    return knowledge == FreedKnowledge::kAll || knowledge == FreedKnowledge::kIncomplete;
  }
};

}  // namespace alloctap
