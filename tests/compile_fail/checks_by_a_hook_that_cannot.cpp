// EXPECT: Config::Checks has something to check, and Config::Hook cannot do it
#include <alloctap/check/checks.hpp>
#include <alloctap/impl/tracker.hpp>

struct Config : alloctap::DefaultConfig {
#ifdef ALLOCTAP_COMPILE_FAIL
  using Checks = alloctap::Checks<alloctap::KindMismatch>;
#endif
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
