// WindowsHeapHook with all blocks beside inaccessible pages under the cases of backends on Windows:
// the program must not notice.
#include "tests/contract/hooks/tracked_program.hpp"
#include "tests/contract/windows/guarded_tracker.hpp"

namespace alloctap::testing {
namespace {

Sees expected() { return {}; }

}  // namespace

const HookedProgram hooked_program = hooked_program_of<GuardedTracker>(&expected);

}  // namespace alloctap::testing
