/// Frees by thread and allocating stack.
#pragma once

#include <cstdint>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/runtime/arena_array.hpp"

namespace alloctap {

/// Sums over the blocks that one stack allocated and one thread freed, since the start.
struct FreesByThread {
  StackId stack = kNoStackId;
  /// The index of the freeing thread in `Snapshot::threads`.
  std::uint32_t thread = 0;
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
};

/// Whether a snapshot has frees by thread, and if not, why.
enum class FreedKnowledge : std::uint8_t {
  kNotAsked,
  kAll,
  /// Some frees were not counted because memory ran out.
  kIncomplete,
  /// The queue applies events on other threads than the calling ones.
  kNotKnown,
  /// The tracker samples, so that only frees of sampled blocks are counted.
  kSampled,
};

struct FreedByThread {
  FreedKnowledge knowledge = FreedKnowledge::kNotAsked;
  /// Rows sorted by thread, then by stack. Allocated in the arena.
  ArenaArray<FreesByThread> blocks;

  /// Returns whether `blocks` has data, perhaps incomplete.
  [[nodiscard]] bool is_available() const noexcept {
    return knowledge == FreedKnowledge::kAll || knowledge == FreedKnowledge::kIncomplete;
  }
};

}  // namespace alloctap
