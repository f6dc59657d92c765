// EXPECT: Config::Index and Config::Container are not slots; say
#include <alloctap/impl/tracker.hpp>

struct Config : alloctap::DefaultConfig {
#ifdef ALLOCTAP_COMPILE_FAIL
  using Index = int;
#endif
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
