// EXPECT: Config::Failures does not model FailurePolicy: see alloctap/fail/failure_policy.hpp
#include <alloctap/impl/tracker.hpp>

struct Mine : alloctap::NoFailures {
#ifdef ALLOCTAP_COMPILE_FAIL
  static bool may_refuse() { return false; }
#endif
};

struct Config : alloctap::DefaultConfig {
  using Failures = Mine;
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
