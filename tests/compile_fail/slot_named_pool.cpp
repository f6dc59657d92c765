// EXPECT: Config::Pool is not a slot; it is called Config::Pools
#include <alloctap/impl/tracker.hpp>

struct Config : alloctap::DefaultConfig {
#ifdef ALLOCTAP_COMPILE_FAIL
  using Pool = int;
#endif
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
