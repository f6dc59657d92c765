// EXPECT: Checks: the feature status and the member status go together
#include <alloctap/impl/tracker.hpp>

struct Mine : alloctap::NoChecks {
#ifdef ALLOCTAP_COMPILE_FAIL
  static alloctap::Status status() { return {}; }
#else
  static alloctap::Status state() { return {}; }
#endif
};

struct Config : alloctap::DefaultConfig {
  using Checks = Mine;
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
