/// Reads the overhead of named allocators.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/event/stack_owner.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/tag/tag_table.hpp"

namespace alloctap {

/// Copies the overheads of `tags` (may be nullptr) to `overheads`, by TagId, up to the last nonzero
/// one. Returns false if out of memory.
[[nodiscard]] inline bool read_overheads(const TagTable* tags,
                                         ArenaArray<std::uint64_t>& overheads) noexcept {
  const std::size_t count = tags == nullptr ? 0 : tags->end_id();
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t bytes = tags->overhead(static_cast<TagId>(i));
    if (bytes == 0) continue;
    if (!overheads.resize(i + 1)) return false;
    overheads[i] = bytes;
  }
  return true;
}

}  // namespace alloctap
