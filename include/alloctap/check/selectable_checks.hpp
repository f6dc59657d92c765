/// Checks chosen at program start.
#pragma once

#include "alloctap/check/check_policy.hpp"

namespace alloctap {

/// A policy with all checks, some of which `select` enables at run time. Call `select` before the
/// hook's first call, or in `Config::on_first_call`. `select` is not thread-safe. Blocks allocated
/// before `select` are not checked. Guard pages require `HookCapabilities::uses_guard_pages`.
/// Trackers with different `Domain` types have separate settings.
template <class Domain = void>
class SelectableChecks {
 public:
  static constexpr bool kChecks = true;
  static constexpr CheckNeeds needs{.owns_every_free = true};

  static void select(const CheckSettings& settings) noexcept { settings_ = settings; }
  static const CheckSettings& settings() noexcept { return settings_; }

 private:
  static inline constinit CheckSettings settings_{};
};

static_assert(CheckPolicy<SelectableChecks<>>);

}  // namespace alloctap
