#include <alloctap/testing/googletest_adapter.hpp>

#include "../unit_tests/tracker.hpp"

ALLOCTAP_DEFINE_INTERPOSED_MALLOC(Tracker);

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  return alloctap::testing::run_googletest<Tracker>();
}
