/// The tracker that looks after all blocks of these programs.
#pragma once

#include "alloctap/hook/interpose_hook.hpp"
#include "tests/contract/checks/checked_by.hpp"

namespace alloctap::testing {

using CheckedTracker = Tracker<CheckedBy<InterposeHook>>;
inline constexpr FaultsOf<CheckedTracker> faults_of;

}  // namespace alloctap::testing
