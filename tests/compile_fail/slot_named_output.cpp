// EXPECT: Config has no slot for dumps: pass the policy and the output to Tracker::dump
#include <alloctap/impl/tracker.hpp>

struct Config : alloctap::DefaultConfig {
#ifdef ALLOCTAP_COMPILE_FAIL
  using Output = int;
#endif
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
