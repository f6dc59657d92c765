/// The contract of pools: whether a tracker hears what a program says of its pools.
#pragma once

#include <concepts>

namespace alloctap {

/// A `PoolPolicy` has a `For<Recorder>`: what a tracker keeps of pools, or nothing. Where `kHears`
/// is true, `For<Recorder>` has, all static and noexcept, `on_start()` and `on_stop()`, for the
/// beginning and the end of a session, and `add_to(PoolsSummary&)`, which sums up what it knows for
/// a snapshot, behind the closed gate, and returns false if the system has no memory for it.
/// `offer(alloctap_slots&)` puts down what the policy has for annotate.h when a session starts.
template <class T>
concept PoolPolicy = requires {
  { T::kHears } -> std::convertible_to<bool>;
  requires !T::kHears || requires { typename T::template For<T>; };
};

/// Hears of none; not an instruction of it is compiled.
struct NoPools {
  static constexpr bool kHears = false;
};

static_assert(PoolPolicy<NoPools>);

}  // namespace alloctap
