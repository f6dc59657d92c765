// The unit tests under a tracker of their own, which fails those that leak.
#define DOCTEST_CONFIG_IMPLEMENT
#include "alloctap/alloctap.hpp"
#include "alloctap/hook/interposed_malloc.hpp"
#include "alloctap/symbol/libdw_symbolizer.hpp"
#include "alloctap/testing/doctest_adapter.hpp"

namespace {

/// Counts for no scope: scopes count what every tracker with `AllocationScopes` sees, and the tests
/// have such trackers.
struct SuiteConfig : alloctap::DefaultConfig {
  using Hook = alloctap::InterposeHook;
  using Symbolizer = alloctap::LibdwSymbolizer;
  using Tags = alloctap::InheritedTags;
};
using SuiteTracker = alloctap::Tracker<SuiteConfig>;

}  // namespace

ALLOCTAP_DEFINE_INTERPOSED_MALLOC(SuiteTracker);

TEST_CASE("a leak that is planted" * doctest::skip()) {
  // Volatile, or the compiler leaves it out.
  char* volatile leak = new char[100];
  CHECK(leak != nullptr);
}

int main(int argc, char** argv) { return alloctap::testing::run_doctest<SuiteTracker>(argc, argv); }
