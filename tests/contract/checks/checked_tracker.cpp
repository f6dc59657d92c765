#include "tests/contract/checks/checked_tracker.hpp"

#include "alloctap/hook/interposed_malloc.hpp"
#include "tests/contract/hooks/tracked_program.hpp"

ALLOCTAP_DEFINE_INTERPOSED_MALLOC(alloctap::testing::CheckedTracker);

namespace alloctap::testing {

const HookedProgram hooked_program = hooked_program_of<CheckedTracker>([] { return Sees{}; });

}  // namespace alloctap::testing
