/// The contract of checks: what is looked after beyond who holds memory.
#pragma once

#include <concepts>
#include <type_traits>

#include "alloctap/check/check_settings.hpp"

namespace alloctap {

/// What a check cannot do without.
struct CheckNeeds {
  /// Every free of a block reaches the hook before the allocator. A block that goes unseen leaves
  /// its record behind, which is then taken for that of the next block there; and where the
  /// program's bytes begin inside of it, nobody else can give it back.
  bool owns_every_free = false;
  /// The hook can hand out memory of the check's own in the allocator's place.
  bool uses_guard_pages = false;
};

/// One check. `apply` adds it to settings, `needs` says what it needs of the hook.
template <class C>
concept Check = requires(CheckSettings& settings) {
  { C::needs } -> std::convertible_to<CheckNeeds>;
  { C::apply(settings) } noexcept -> std::same_as<void>;
};

/// The slot of a tracker. `kChecks` says whether there is anything to check, `needs` what the hook
/// must be able to do, `settings()` what is checked; the same for the whole process from the first
/// call of the hook on.
template <class P>
concept CheckPolicy = requires {
  { P::kChecks } -> std::convertible_to<bool>;
  { P::needs } -> std::convertible_to<CheckNeeds>;
  { P::settings() } noexcept -> std::convertible_to<CheckSettings>;
};

/// Whether `P` may check functions of strings: that of settings which the compiler knows, else
/// true.
template <CheckPolicy P>
[[nodiscard]] consteval bool may_check_strings() {
  if constexpr (requires { typename std::bool_constant<P::settings().strings>; }) {
    return P::settings().strings;
  } else {
    return true;
  }
}

/// Nothing; and nothing of checks is compiled into the tracker.
struct NoChecks {
  static constexpr bool kChecks = false;
  static constexpr CheckNeeds needs{};
  static constexpr CheckSettings settings() noexcept { return {}; }
};

static_assert(CheckPolicy<NoChecks>);

}  // namespace alloctap
