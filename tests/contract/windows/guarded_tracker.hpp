/// The tracker that puts all blocks of these programs at the edges of pages.
#pragma once

#include "alloctap/hook/windows_heap_hook.hpp"
#include "tests/contract/checks/checked_by.hpp"
#include "tests/contract/checks/guarded_by.hpp"

namespace alloctap::testing {

using GuardedTracker = Tracker<GuardedBy<WindowsHeapHook>>;
inline constexpr FaultsOf<GuardedTracker> faults_of;

}  // namespace alloctap::testing
