/// The contract of pool policies: whether a tracker records the program's memory pools.
#pragma once

#include <concepts>

namespace alloctap {

/// If `kHears` is true, the policy records pools by a member template `For<Recorder>`, whose
/// functions are static and noexcept. `on_start()` and `on_stop()` run when a session begins and
/// ends. `add_to(PoolsSummary&)` adds to a snapshot while the world is stopped; it returns false if
/// out of memory. `offer(alloctap_slots&)` adds functions for annotate.h when a session starts.
template <class T>
concept PoolPolicy = requires {
  { T::kHears } -> std::convertible_to<bool>;
  requires !T::kHears || requires { typename T::template For<T>; };
};

/// Does not record pools; compiles to no code.
struct NoPools {
  static constexpr bool kHears = false;
};

static_assert(PoolPolicy<NoPools>);

}  // namespace alloctap
