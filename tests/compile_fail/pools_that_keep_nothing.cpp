// EXPECT: Config::Pools does not model PoolPolicy: see alloctap/meta/pool_policy.hpp
#include <alloctap/impl/tracker.hpp>

struct Pools {
#ifdef ALLOCTAP_COMPILE_FAIL
  static constexpr bool kHears = true;
#else
  static constexpr bool kHears = false;
#endif
};

struct Config : alloctap::DefaultConfig {
  using Pools = ::Pools;
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
