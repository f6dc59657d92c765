// EXPECT: Config::Queues is not a slot; it is called Config::Queue
#include <alloctap/impl/tracker.hpp>

struct Config : alloctap::DefaultConfig {
#ifdef ALLOCTAP_COMPILE_FAIL
  using Queues = int;
#endif
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
