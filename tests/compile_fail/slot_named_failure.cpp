// EXPECT: Config::Failure is not a slot; it is called Config::Failures
#include <alloctap/impl/tracker.hpp>

struct Config : alloctap::DefaultConfig {
#ifdef ALLOCTAP_COMPILE_FAIL
  using Failure = int;
#endif
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
