// EXPECT: Config::Stacks and Config::Unwinder are not slots; it is called Config::Stack
#include <alloctap/tracker.hpp>

struct Config : alloctap::DefaultConfig {
#ifdef ALLOCTAP_COMPILE_FAIL
  using Unwinder = int;
#endif
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
