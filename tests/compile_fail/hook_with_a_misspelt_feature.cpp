// EXPECT: Hook: the feature earlier_blocks and the member earlier_blocks go together
#include <alloctap/impl/tracker.hpp>

struct Mine : alloctap::HookBackendArchetype {
#ifdef ALLOCTAP_COMPILE_FAIL
  static constexpr alloctap::HookFeatures features{.earlier_blocks = true};
#else
  static constexpr alloctap::HookFeatures features{};
#endif
};

struct Config : alloctap::DefaultConfig {
  using Hook = Mine;
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
