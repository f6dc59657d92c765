// WindowsHeapHook with all checks under the cases of backends on Windows: the program must not
// notice.
#include "tests/contract/hooks/tracked_program.hpp"
#include "tests/contract/windows/checked_tracker.hpp"

namespace alloctap::testing {
namespace {

static_assert(WindowsHeapHook::capabilities.checks_blocks);

Sees expected() { return {}; }

}  // namespace

const HookedProgram hooked_program = hooked_program_of<CheckedTracker>(&expected);

}  // namespace alloctap::testing
