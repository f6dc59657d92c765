#define CATCH_CONFIG_RUNNER
#include <alloctap/testing/catch2_adapter.hpp>

#include "../unit_tests/tracker.hpp"

ALLOCTAP_DEFINE_INTERPOSED_MALLOC(Tracker);

int main(int argc, char** argv) { return alloctap::testing::run_catch2<Tracker>(argc, argv); }
