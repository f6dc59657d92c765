// EXPECT: Config::MetaContainer is not a slot; it is called Config::Meta
#include <alloctap/impl/tracker.hpp>

struct Config : alloctap::DefaultConfig {
#ifdef ALLOCTAP_COMPILE_FAIL
  using MetaContainer = int;
#endif
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
