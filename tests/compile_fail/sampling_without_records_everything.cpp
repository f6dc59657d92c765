// EXPECT: Config::Sampling does not model SamplingPolicy: see alloctap/sample/sampling_policy.hpp
#include <alloctap/tracker.hpp>

struct Sampling {
#ifndef ALLOCTAP_COMPILE_FAIL
  static constexpr bool records_everything = true;
#endif
  static bool should_record(alloctap::ThreadState&, std::size_t) noexcept { return true; }
};

struct Config : alloctap::DefaultConfig {
  using Sampling = ::Sampling;
};

int main() { return alloctap::Tracker<Config>::running() ? 1 : 0; }
