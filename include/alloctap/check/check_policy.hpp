/// The contract of checks and of their policies: what a tracker verifies beyond recording.
#pragma once

#include <concepts>
#include <type_traits>

#include "alloctap/check/check_settings.hpp"
#include "alloctap/event/policy_features.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// The abilities that a check requires of the hook.
struct CheckNeeds {
  /// Every free of a block reaches the hook before the allocator. If a free bypassed the hook, the
  /// stale record would be mistaken for that of the next block at the address. If the block had a
  /// left red zone, the allocator could not even free the program's pointer.
  bool owns_every_free = false;
  /// The hook can give the program a block of the check's own memory in place of the allocator's.
  bool uses_guard_pages = false;
};

/// A check. `apply` enables it in the settings; `needs` states what it requires of the hook.
template <class C>
concept Check = requires(CheckSettings& settings) {
  { C::needs } -> std::convertible_to<CheckNeeds>;
  { C::apply(settings) } noexcept -> std::same_as<void>;
};

/// The optional members of a policy of checks.
struct CheckFeatures {
  /// `read_environment()` determines the settings. Runs in the first call of the hook if the hook
  /// supports that, otherwise before the hook is installed. Not thread-safe; may allocate.
  bool read_environment = false;
  /// `status()` returns the errors in the settings. If there are any, no session starts.
  bool status = false;
};

/// A policy for `Config::Checks`. `kChecks` is false if the policy checks nothing. `needs` states
/// what the hook must support. `settings()` must not change after the first call of the hook.
/// `features` declares which members of `CheckFeatures` the policy has.
template <class P>
concept CheckPolicy = requires {
  { P::kChecks } -> std::convertible_to<bool>;
  { P::needs } -> std::convertible_to<CheckNeeds>;
  { P::settings() } noexcept -> std::convertible_to<CheckSettings>;
};

/// When instantiated, rejects a policy `P` whose declared features differ from its members.
template <class P>
struct CheckedChecks {
  static constexpr auto kHas = features_of<CheckFeatures, P>();
  ALLOCTAP_CHECK_FEATURE("Checks", kHas, read_environment, requires { P::read_environment(); });
  ALLOCTAP_CHECK_FEATURE("Checks", kHas, status, requires { Status(P::status()); });
  static constexpr bool ok = true;
};

/// Returns whether `P` checks string functions, or may enable that check at run time.
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
