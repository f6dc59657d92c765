/// The tracker that looks after all blocks of these programs.
#pragma once

#include "alloctap/hook/windows_heap_hook.hpp"
#include "tests/contract/checks/checked_by.hpp"

namespace alloctap::testing {

using CheckedTracker = Tracker<CheckedBy<WindowsHeapHook>>;
inline constexpr FaultsOf<CheckedTracker> faults_of;

}  // namespace alloctap::testing
