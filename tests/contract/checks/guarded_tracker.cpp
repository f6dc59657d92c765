#include "tests/contract/checks/guarded_tracker.hpp"

#include "alloctap/hook/interposed_malloc.hpp"
#include "tests/contract/hooks/tracked_program.hpp"

ALLOCTAP_DEFINE_INTERPOSED_MALLOC(alloctap::testing::GuardedTracker);

namespace alloctap::testing {

const HookedProgram hooked_program = hooked_program_of<GuardedTracker>([] { return Sees{}; });

}  // namespace alloctap::testing
