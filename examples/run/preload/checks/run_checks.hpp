/// The checks of the object that has them.
#pragma once

#include <alloctap/check/parse_check_options.hpp>
#include <alloctap/check/selectable_checks.hpp>
#include <alloctap/hook/interpose_hook.hpp>
#include <string_view>

#include "run_hook.hpp"

namespace alloctap::run {

using RunChecks = SelectableChecks<>;

/// The launcher starts this object with InterposeHook alone.
struct RunCheckedHook : RunHook {
  static constexpr HookCapabilities capabilities = InterposeHook::capabilities;

  template <EventSink Sink>
  static absl::Status install() {
    return InterposeHook::install<Sink>();
  }
};

/// `list` is one that the launcher has read.
inline void select_checks(std::string_view list) {
  const absl::StatusOr<CheckSettings> settings = parse_check_options(list);
  if (settings.ok()) RunChecks::select(*settings);
}

}  // namespace alloctap::run
