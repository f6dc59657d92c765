// EXPECT: Config::Check is not a slot; it is called Config::Checks
#include <alloctap/impl/tracker.hpp>

struct Config : alloctap::DefaultConfig {
#ifdef ALLOCTAP_COMPILE_FAIL
  using Check = alloctap::NoChecks;
#endif
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
