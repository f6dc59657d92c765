/// The contract of pool policies: whether a tracker records the program's memory pools.
#pragma once

#include <concepts>

namespace alloctap {

/// If `kHears` is true, the policy has a member template `For<Recorder>` that records pools, all
/// static and noexcept. `on_start()` and `on_stop()` run at the begin and end of a session.
/// `add_to(PoolsSummary&)` adds to a snapshot while the world is stopped, and returns false if out
/// of memory. `offer(alloctap_slots&)` adds functions for annotate.h when a session starts.
template <class T>
concept PoolPolicy = requires {
  { T::kHears } -> std::convertible_to<bool>;
  requires !T::kHears || requires { typename T::template For<T>; };
};

/// Ignores pools; compiles to no code.
struct NoPools {
  static constexpr bool kHears = false;
};

static_assert(PoolPolicy<NoPools>);

}  // namespace alloctap
