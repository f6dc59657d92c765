// Tests under a tracker of their own, which fails those that leak.
#define DOCTEST_CONFIG_IMPLEMENT
#include "alloctap/hook/interposed_malloc.hpp"
#include "alloctap/testing/doctest_adapter.hpp"
#include "tests/contract/hooks/tracked_program.hpp"
#include "tests/tracked/suite_tracker.hpp"

using alloctap::testing::SuiteTracker;

ALLOCTAP_DEFINE_INTERPOSED_MALLOC(SuiteTracker);

namespace alloctap::testing {

/// The cases of hook backends, in the program that has them, count what this tracker sees: its
/// session is the tests'.
const HookedProgram hooked_program{.start = []() -> std::string { return ""; },
                                   .end = [] {},
                                   .totals = &TrackedProgram<SuiteTracker>::totals,
                                   .sees = [] { return Sees{}; }};

}  // namespace alloctap::testing

TEST_CASE("a leak that is planted" * doctest::skip()) {
  // Volatile, or the compiler leaves it out.
  char* volatile leak = new char[100];
  CHECK(leak != nullptr);
}

int main(int argc, char** argv) { return alloctap::testing::run_doctest<SuiteTracker>(argc, argv); }
