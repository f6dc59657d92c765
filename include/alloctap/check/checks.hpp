/// Checks chosen at compile time.
#pragma once

#include "alloctap/check/check_policy.hpp"

namespace alloctap {

/// Enables all of `Choices`. Every choice except `Expand` and `FillOnAllocate` also finds double
/// frees and frees of addresses inside blocks.
///
///     using Checks = alloctap::Checks<alloctap::KindMismatch, alloctap::RearGuard<>>;
template <Check... Choices>
struct Checks {
  static constexpr bool kChecks = true;
  static constexpr CheckNeeds needs{.owns_every_free = (Choices::needs.owns_every_free || ...),
                                    .uses_guard_pages = (Choices::needs.uses_guard_pages || ...)};

  static constexpr CheckSettings settings() noexcept {
    CheckSettings settings;
    (Choices::apply(settings), ...);
    return settings;
  }
};

static_assert(CheckPolicy<Checks<>>);

}  // namespace alloctap
