// EXPECT: Config::Tag is not a slot; it is called Config::Tags
#include <alloctap/impl/tracker.hpp>

struct Config : alloctap::DefaultConfig {
#ifdef ALLOCTAP_COMPILE_FAIL
  using Tag = int;
#endif
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
