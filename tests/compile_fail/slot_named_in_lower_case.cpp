// EXPECT: Config::hook is not a slot; it is called Config::Hook
#include <alloctap/impl/tracker.hpp>

// The name of a config is a member of it, and no slip.
struct Sample : alloctap::DefaultConfig {
#ifdef ALLOCTAP_COMPILE_FAIL
  using hook = int;
#endif
};

struct DerivedSample : Sample {};

int main() {
  return alloctap::Tracker<Sample>::running() || alloctap::Tracker<DerivedSample>::running();
}
