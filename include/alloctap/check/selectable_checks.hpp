/// Checks that are chosen when the program starts.
#pragma once

#include "alloctap/check/check_policy.hpp"

namespace alloctap {

/// Every check is there; `select` says which are in force. Before the first call of the hook, or in
/// `Config::on_first_call`: not thread-safe, and what was allocated before is not checked. Guard
/// pages have an effect where the hook can place blocks (`HookCapabilities::uses_guard_pages`).
/// `Domain` is any type: trackers with different domains have settings of their own.
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
