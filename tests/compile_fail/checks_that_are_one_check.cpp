// EXPECT: Config::Checks does not model CheckPolicy: see alloctap/check/check_policy.hpp
#include <alloctap/check/checks.hpp>
#include <alloctap/impl/tracker.hpp>

struct Config : alloctap::DefaultConfig {
#ifdef ALLOCTAP_COMPILE_FAIL
  using Checks = alloctap::KindMismatch;
#endif
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
