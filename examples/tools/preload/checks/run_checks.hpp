/// The checks of the libraries that have them.
#pragma once

#include <alloctap/check/selectable_checks.hpp>
#include <string_view>

#include "alloctap/status.hpp"
#include "preload/kind_namespace.hpp"
#include "run_hook.hpp"

namespace alloctap::run::inline ALLOCTAP_RUN_KIND {

using RunChecks = SelectableChecks<>;

/// The launcher starts these libraries with one backend alone.
struct RunCheckedHook : RunHook {
  static constexpr HookCapabilities capabilities = RunHook::Checking::capabilities;

  template <EventSink Sink>
  static Status install() {
    return RunHook::Checking::install<Sink>();
  }
};

/// `list` is one that the launcher has read.
inline void select_checks(std::string_view list) {
  const Result<CheckSettings> settings = parse_check_options(list);
  if (settings.ok()) RunChecks::select(*settings);
}

}  // namespace alloctap::run::inline ALLOCTAP_RUN_KIND
