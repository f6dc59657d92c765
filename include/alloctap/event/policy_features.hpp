/// How policies and configs declare which optional members they have.
#pragma once

namespace alloctap {

/// Returns `P::features`, or a value without features if `P` declares none.
///
/// A contract names its optional members in a struct, such as `ObserverFeatures`. A policy declares
/// which of them it has:
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

/// Declares which static functions a config has; `DefaultConfig` has none. The functions run inside
/// malloc, except `own_module` and `for_each_kept_pointer`, which run in the control plane.
struct ConfigFeatures {
  /// `on_first_call()` runs once, in the first interposed call, before constructors. It may start
  /// the tracker.
  bool on_first_call = false;
  /// `is_internal_call(const CallOrigin&)` returns true for calls that are not the program's.
  bool is_internal_call = false;
  /// `may_have_internal_calls()` returns false once no internal call can follow; until then,
  /// sampling has no fast path.
  bool may_have_internal_calls = false;
  /// `own_module()` returns the bytes of a module, as `std::span<const char>`, that contains the
  /// tracker and no code of the program. Stacks omit the module's frames. The module's variables,
  /// and its frames on the reporting thread's stack, are no roots of the leak scan.
  bool own_module = false;
  /// `for_each_kept_pointer(void (*visit)(void*, const void*), void* context)` calls `visit` with
  /// `context` and each pointer of the program that is in the module's variables or in the arena.
  bool for_each_kept_pointer = false;
  /// `on_misuse(const Misuse&)` receives each fault that `Checks` find, once.
  bool on_misuse = false;
  /// `catch_faults(os::FaultListener)` installs the handler of memory faults, in place of
  /// `os::catch_memory_faults`. Returns false on failure.
  bool catch_faults = false;
};

}  // namespace alloctap
