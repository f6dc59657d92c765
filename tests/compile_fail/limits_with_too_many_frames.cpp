// EXPECT: Config::limits.max_frames must be from 1 to ThreadState::kMaxFrames
#include <alloctap/impl/tracker.hpp>

#ifdef ALLOCTAP_COMPILE_FAIL
constexpr alloctap::Limits kLimits{.max_frames = alloctap::ThreadState::kMaxFrames + 1};
#else
constexpr alloctap::Limits kLimits{.max_frames = 64};
#endif

struct Config : alloctap::DefaultConfig {
  static constexpr alloctap::Limits limits = kLimits;
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
