// EXPECT: Config::Sampler is not a slot; it is called Config::Sampling
#include <alloctap/impl/tracker.hpp>

struct Config : alloctap::DefaultConfig {
#ifdef ALLOCTAP_COMPILE_FAIL
  using Sampler = int;
#endif
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
