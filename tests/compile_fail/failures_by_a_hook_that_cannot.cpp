// EXPECT: Config::Failures has allocations fail, and Config::Hook cannot do it
#include <alloctap/fail/injected_failures.hpp>
#include <alloctap/impl/tracker.hpp>

struct Config : alloctap::DefaultConfig {
#ifdef ALLOCTAP_COMPILE_FAIL
  using Failures = alloctap::InjectedFailures;
#endif
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
