/// The concept of checks: what a tracker verifies beyond recording allocations.
#pragma once

#include <concepts>
#include <type_traits>

#include "alloctap/check/check_settings.hpp"

namespace alloctap {

/// The abilities that a check requires of the hook.
struct CheckNeeds {
  /// Every free of a block reaches the hook before the allocator. A missed free leaves a stale
  /// record, which is then taken for that of the next block at this address. If a block has a left
  /// red zone, the allocator cannot free the program's pointer at all.
  bool owns_every_free = false;
  /// The hook can return memory of the check's own instead of the allocator's.
  bool uses_guard_pages = false;
};

/// A check. `apply` enables it in the settings; `needs` states what it requires of the hook.
template <class C>
concept Check = requires(CheckSettings& settings) {
  { C::needs } -> std::convertible_to<CheckNeeds>;
  { C::apply(settings) } noexcept -> std::same_as<void>;
};

/// The slot `Checks` of a tracker. `kChecks` is false if there is nothing to check; `needs` states
/// what the hook must support. `settings()` must not change after the first call of the hook.
template <class P>
concept CheckPolicy = requires {
  { P::kChecks } -> std::convertible_to<bool>;
  { P::needs } -> std::convertible_to<CheckNeeds>;
  { P::settings() } noexcept -> std::convertible_to<CheckSettings>;
};

/// Returns whether `P` may check string functions. Returns true if the settings are known only at
/// run time.
template <CheckPolicy P>
[[nodiscard]] consteval bool may_check_strings() {
  if constexpr (requires { typename std::bool_constant<P::settings().strings>; }) {
    return P::settings().strings;
  } else {
    return true;
  }
}

/// No checks: compiles no checking code into the tracker.
struct NoChecks {
  static constexpr bool kChecks = false;
  static constexpr CheckNeeds needs{};
  static constexpr CheckSettings settings() noexcept { return {}; }
};

static_assert(CheckPolicy<NoChecks>);

}  // namespace alloctap
