// EXPECT: Config::Sampling does not model SamplingPolicy: see alloctap/sample/sampling_policy.hpp
#include <alloctap/impl/tracker.hpp>

struct Sampling : alloctap::SamplingPolicyArchetype {
#ifdef ALLOCTAP_COMPILE_FAIL
  static bool selects() { return true; }
#endif
};

struct Config : alloctap::DefaultConfig {
  using Sampling = ::Sampling;
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
