/// The tracker that puts all blocks of these programs at the edges of pages.
#pragma once

#include "alloctap/hook/interpose_hook.hpp"
#include "tests/contract/checks/guarded_by.hpp"

namespace alloctap::testing {

using GuardedTracker = Tracker<GuardedBy<InterposeHook>>;

}  // namespace alloctap::testing
