/// How a policy declares which optional members it has.
#pragma once

namespace alloctap {

/// Returns `P::features`, or a value without features if `P` declares none.
///
/// A contract names its optional members in a struct, such as `ObserverFeatures`. A policy that has
/// some of them declares it:
///
///     static constexpr alloctap::ObserverFeatures features{.on_start = true};
///
/// `ALLOCTAP_CHECK_FEATURE` compares the declaration with the members, so a misspelt member is an
/// error.
template <class Features, class P>
[[nodiscard]] consteval Features features_of() {
  if constexpr (requires { P::features; }) {
    return P::features;
  } else {
    return {};
  }
}

}  // namespace alloctap
