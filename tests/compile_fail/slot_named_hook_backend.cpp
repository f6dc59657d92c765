// EXPECT: Config::HookBackend is not a slot; it is called Config::Hook
#include <alloctap/impl/tracker.hpp>

struct Config : alloctap::DefaultConfig {
#ifdef ALLOCTAP_COMPILE_FAIL
  using HookBackend = int;
#endif
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
