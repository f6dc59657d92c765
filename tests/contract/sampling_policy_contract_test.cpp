// What every sampling policy promises: its decisions and its weights agree.
#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "alloctap/sample/adjustable_sampling.hpp"
#include "alloctap/sample/poisson_by_bytes.hpp"
#include "alloctap/sample/sampling_policy.hpp"
#include "alloctap/sample/size_range.hpp"

namespace {

using alloctap::SampleDecision;

/// Set as its users set it, for as long as a test takes.
template <std::uint64_t mean>
struct Adjusted : alloctap::AdjustableSampling {
  Adjusted() { set({.mean_bytes = mean, .min_bytes = 10, .max_bytes = 2000}); }
  ~Adjusted() { set({}); }
};

SampleDecision decide(auto& policy, std::size_t size) {
  return policy.decide(*alloctap::ThreadStates::mine(), size);
}

}  // namespace

#define ALLOCTAP_SAMPLING_POLICIES                                                         \
  alloctap::EveryAllocation, alloctap::PoissonByBytes<512>, alloctap::SizeRange<100, 200>, \
      alloctap::SizeRange<100, 200, alloctap::PoissonByBytes<512>>, Adjusted<0>, Adjusted<512>

TEST_CASE_TEMPLATE("a policy that records everything skips nothing, and weighs nothing", Sampling,
                   ALLOCTAP_SAMPLING_POLICIES) {
  Sampling policy;
  for (std::size_t size = 0; size < 10'000; ++size) {
    const bool skipped = decide(policy, size) == SampleDecision::kSkip;
    if (policy.records_everything()) CHECK_FALSE(skipped);
    if (!policy.selects()) CHECK(decide(policy, size) == SampleDecision::kWithStack);
    if (policy.records_everything()) CHECK(policy.weight(size) == 1);
  }
  CHECK((policy.description().mean_bytes == 0) == policy.records_everything());
}

TEST_CASE_TEMPLATE("the weights of what is recorded add up to what was allocated", Sampling,
                   ALLOCTAP_SAMPLING_POLICIES) {
  Sampling policy;
  constexpr int kTries = 100'000;
  for (const std::size_t size : {0U, 1U, 100U, 600U, 2000U}) {
    double estimate = 0;
    for (int i = 0; i < kTries; ++i) {
      if (decide(policy, size) != SampleDecision::kSkip) estimate += policy.weight(size);
    }
    const double weight = policy.weight(size);
    const double deviation = std::sqrt(kTries * (weight - 1));
    CAPTURE(size);
    CHECK(weight >= 1);
    // The seed is another one in each run, and 2000 bytes are left out often enough for a bound.
    CHECK(std::abs(estimate - kTries) <= 6 * deviation + 0.001);
  }
}

TEST_CASE_TEMPLATE("a stack is taken of the sizes that the description names", Sampling,
                   ALLOCTAP_SAMPLING_POLICIES) {
  Sampling policy;
  const alloctap::SamplingDescription description = policy.description();
  CHECK_FALSE(description.name.empty());
  for (std::size_t size = 0; size < 5000; ++size) {
    const bool inside = size >= description.min_bytes && size <= description.max_bytes;
    const SampleDecision other =
        inside ? SampleDecision::kWithoutStack : SampleDecision::kWithStack;
    CHECK(decide(policy, size) != other);
  }
}
