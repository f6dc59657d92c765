// EXPECT: Tags: the feature offer and the member offer go together
#include <alloctap/impl/tracker.hpp>

struct Mine : alloctap::TagPolicyArchetype {
#ifdef ALLOCTAP_COMPILE_FAIL
  static constexpr alloctap::TagFeatures features{.offer = true};
#else
  static constexpr alloctap::TagFeatures features{};
#endif
};

struct Config : alloctap::DefaultConfig {
  using Tags = Mine;
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
