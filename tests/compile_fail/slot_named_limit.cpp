// EXPECT: Config::limit is not a slot; it is called Config::limits
#include <alloctap/impl/tracker.hpp>

struct Config : alloctap::DefaultConfig {
#ifdef ALLOCTAP_COMPILE_FAIL
  static constexpr alloctap::Limits limit{.max_frames = 8};
#endif
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
