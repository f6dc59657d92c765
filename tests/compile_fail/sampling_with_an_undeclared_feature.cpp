// EXPECT: Sampling: the feature after_fork and the member after_fork go together
#include <alloctap/impl/tracker.hpp>

struct Mine : alloctap::SamplingPolicyArchetype {
#ifdef ALLOCTAP_COMPILE_FAIL
  static void after_fork() noexcept {}
#else
  static void after_forks() noexcept {}
#endif
};

struct Config : alloctap::DefaultConfig {
  using Sampling = Mine;
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
