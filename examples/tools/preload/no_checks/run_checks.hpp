/// The checks of the libraries that count and log.
#pragma once

#include <alloctap/check/check_policy.hpp>
#include <string_view>

#include "preload/kind_namespace.hpp"
#include "run_hook.hpp"

namespace alloctap::run::inline ALLOCTAP_RUN_KIND {

using RunChecks = NoChecks;
using RunCheckedHook = RunHook;

/// There are none.
inline void select_checks(std::string_view) noexcept {}

}  // namespace alloctap::run::inline ALLOCTAP_RUN_KIND
