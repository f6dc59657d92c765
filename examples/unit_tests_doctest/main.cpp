#define DOCTEST_CONFIG_IMPLEMENT
#include <alloctap/testing/doctest_adapter.hpp>

#include "../unit_tests/tracker.hpp"

ALLOCTAP_DEFINE_INTERPOSED_MALLOC(Tracker);

int main(int argc, char** argv) { return alloctap::testing::run_doctest<Tracker>(argc, argv); }
