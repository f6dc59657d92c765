// EXPECT: Config::limits is not an alloctap::Limits: see alloctap/config.hpp
#include <alloctap/impl/tracker.hpp>

#ifdef ALLOCTAP_COMPILE_FAIL
struct MyLimits {
  std::uint32_t max_frames = 64;
};
constexpr MyLimits kLimits;
#else
constexpr alloctap::Limits kLimits{.max_frames = 64};
#endif

struct Config : alloctap::DefaultConfig {
  static constexpr auto limits = kLimits;
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
