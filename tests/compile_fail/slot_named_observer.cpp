// EXPECT: Config::Observer is not a slot; it is called Config::Observers
#include <alloctap/impl/tracker.hpp>

struct Config : alloctap::DefaultConfig {
#ifdef ALLOCTAP_COMPILE_FAIL
  using Observer = int;
#endif
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
