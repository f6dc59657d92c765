// EXPECT: Config::max_frames is not a slot; it is called Config::limits
#include <alloctap/impl/tracker.hpp>

struct Config : alloctap::DefaultConfig {
#ifdef ALLOCTAP_COMPILE_FAIL
  static constexpr std::uint32_t max_frames = 8;
#endif
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
