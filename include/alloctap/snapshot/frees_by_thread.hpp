/// Frees by thread and allocating stack.
#pragma once

#include <cstdint>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/runtime/arena_array.hpp"

namespace alloctap {

/// What one thread has freed since the start, of the blocks of one stack.
struct FreesByThread {
  StackId stack = kNoStackId;
  /// The index of the freeing thread in `Snapshot::threads`.
  std::uint32_t thread = 0;
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
};

/// Whether a snapshot has frees by thread, or why not.
enum class FreedKnowledge : std::uint8_t {
  kNotAsked,
  kAll,
  /// Some were not counted for lack of memory.
  kIncomplete,
  /// The queue applies events on threads other than the calling ones.
  kNotKnown,
  /// The tracker samples, and counts only sampled blocks.
  kSampled,
};

struct FreedByThread {
  FreedKnowledge knowledge = FreedKnowledge::kNotAsked;
  /// Sorted by thread, then by stack. Memory from the arena.
  ArenaArray<FreesByThread> blocks;

  /// Returns whether there is data to copy.
  [[nodiscard]] bool is_available() const noexcept {
    return knowledge == FreedKnowledge::kAll || knowledge == FreedKnowledge::kIncomplete;
  }
};

}  // namespace alloctap
