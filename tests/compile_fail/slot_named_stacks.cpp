// EXPECT: Config::Stacks is not a slot; it is called Config::Stack
#include <alloctap/impl/tracker.hpp>

struct Config : alloctap::DefaultConfig {
#ifdef ALLOCTAP_COMPILE_FAIL
  using Stacks = int;
#endif
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
