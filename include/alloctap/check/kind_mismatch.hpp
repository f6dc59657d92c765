/// Finds blocks that are given back in another way than they came.
#pragma once

#include "alloctap/check/check_policy.hpp"

namespace alloctap {

/// malloc and its family against free and realloc, new against delete, new[] against delete[], the
/// aligned forms against the aligned ones; sizes and alignments that a delete states against those
/// that were asked for. The block is given back as it came, whatever the call. On Windows all but
/// those of _aligned_malloc are of one kind, and it is the heap that must be the same.
struct KindMismatch {
  static constexpr CheckNeeds needs{.owns_every_free = true};
  static constexpr void apply(CheckSettings& settings) noexcept {
    settings.blocks = true;
    settings.kinds = true;
  }
};

static_assert(Check<KindMismatch>);

}  // namespace alloctap
