// EXPECT: Config::Sampling does not model SamplingPolicy: see alloctap/sample/sampling_policy.hpp
#include <alloctap/tracker.hpp>

#ifdef ALLOCTAP_COMPILE_FAIL
struct Sampling {
  static constexpr bool records_everything = true;
  static bool should_record(alloctap::ThreadState&, std::size_t) { return true; }
};
#else
using Sampling = alloctap::SamplingPolicyArchetype;
#endif

struct Config : alloctap::DefaultConfig {
  using Sampling = ::Sampling;
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
