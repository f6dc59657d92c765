/// Finds blocks whose deallocation call does not match their allocation call.
#pragma once

#include "alloctap/check/check_policy.hpp"

namespace alloctap {

/// Checks malloc's family against free and realloc, new against delete, new[] against delete[], and
/// the aligned forms against the aligned ones. Compares the size and alignment of a sized delete
/// with the request. A mismatched block is still freed correctly. On Windows only _aligned_malloc
/// is distinguished, and the heap must match.
struct KindMismatch {
  static constexpr CheckNeeds needs{.owns_every_free = true};
  static constexpr void apply(CheckSettings& settings) noexcept {
    settings.blocks = true;
    settings.kinds = true;
  }
};

static_assert(Check<KindMismatch>);

}  // namespace alloctap
