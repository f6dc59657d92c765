/// The part of a recorder that tells the program's calls from others.
#pragma once

#include "alloctap/event/allocation_event.hpp"

namespace alloctap {

/// What `Config` says of calls, where it says anything; for a `Recorder` that derives from it.
template <class Config>
class InternalCallFilter {
 public:
  /// Whether a call is not the program's.
  static bool is_internal_call(const CallOrigin& origin) noexcept {
    if constexpr (requires { Config::is_internal_call(origin); })
      return Config::is_internal_call(origin);
    return false;
  }

  /// Whether `is_internal_call` may yet say so; asked after it said no. While it may, each call is
  /// asked about, which costs what sampling saves.
  static bool may_have_internal_calls() noexcept {
    if constexpr (requires { Config::may_have_internal_calls(); })
      return Config::may_have_internal_calls();
    return requires(const CallOrigin& origin) { Config::is_internal_call(origin); };
  }

  /// Only hooks that are called before the tracker starts ask for it.
  static void on_first_call() noexcept {
    in_first_call_ = true;
    if constexpr (requires { Config::on_first_call(); }) Config::on_first_call();
    in_first_call_ = false;
  }

  /// Whether nothing was allocated before now.
  static bool in_first_call() noexcept { return in_first_call_; }

 private:
  static inline constinit bool in_first_call_ = false;
};

}  // namespace alloctap
