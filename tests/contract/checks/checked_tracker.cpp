#include "tests/contract/checks/checked_tracker.hpp"

#include <cstdlib>

#include "alloctap/hook/interposed_malloc.hpp"
#include "tests/contract/hooks/tracked_program.hpp"

ALLOCTAP_DEFINE_INTERPOSED_MALLOC(alloctap::testing::CheckedTracker);

namespace alloctap::testing {

const HookedProgram hooked_program = hooked_program_of<CheckedTracker>([] { return Sees{}; });

ToldMisuse& told_misuse() noexcept {
  static constinit ToldMisuse told;
  return told;
}

void CheckedConfig10::on_misuse(const Misuse& misuse) noexcept {
  // It may allocate.
  std::free(escape(std::malloc(100)));
  told_misuse().last = misuse;
  ++told_misuse().times;
}

}  // namespace alloctap::testing
