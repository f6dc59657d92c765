#include "alloctap/sample/adjustable_sampling.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>

namespace {

using alloctap::AdjustableSampling;
using alloctap::SampleDecision;
using alloctap::ThreadStates;

/// Others find the setting that every process starts with.
struct Adjusted {
  explicit Adjusted(const AdjustableSampling::Settings& settings) {
    AdjustableSampling::set(settings);
  }
  Adjusted(const Adjusted&) = delete;
  Adjusted& operator=(const Adjusted&) = delete;
  ~Adjusted() { AdjustableSampling::set({}); }
};

SampleDecision decide(std::size_t size) {
  return AdjustableSampling::decide(*ThreadStates::mine(), size);
}

int recorded_of(int tries, std::size_t size) {
  int recorded = 0;
  for (int i = 0; i < tries; ++i) {
    if (decide(size) != SampleDecision::kSkip) ++recorded;
  }
  return recorded;
}

}  // namespace

TEST_CASE("unless it is told otherwise it records every allocation with its stack") {
  CHECK(AdjustableSampling::records_everything());
  CHECK_FALSE(AdjustableSampling::selects());
  for (const std::size_t size : {std::size_t{0}, std::size_t{100}, SIZE_MAX}) {
    CHECK(decide(size) == SampleDecision::kWithStack);
  }
  CHECK(AdjustableSampling::weight(100) == 1);
  CHECK(AdjustableSampling::description().name == "every-allocation");
  CHECK(AdjustableSampling::description().mean_bytes == 0);
}

TEST_CASE("a mean of one byte is every allocation too") {
  const Adjusted adjusted({.mean_bytes = 1});
  CHECK(AdjustableSampling::records_everything());
  CHECK_FALSE(AdjustableSampling::selects());
  CHECK(recorded_of(1000, 1) == 1000);
  CHECK(AdjustableSampling::weight(100) == 1);
  CHECK(AdjustableSampling::description().mean_bytes == 0);
}

TEST_CASE("a mean that is set holds at once, also after a larger one") {
  const Adjusted rare({.mean_bytes = std::uint64_t{1} << 40});
  CHECK_FALSE(AdjustableSampling::records_everything());
  CHECK(recorded_of(1000, 1) == 0);
  const Adjusted frequent({.mean_bytes = 1000});
  CHECK(AdjustableSampling::weight(1000) == doctest::Approx(1 / -std::expm1(-1.0)));
  CHECK(AdjustableSampling::description().name == "poisson-by-bytes");
  CHECK(AdjustableSampling::description().mean_bytes == 1000);
  // 9516 are to be expected; six standard deviations around.
  CHECK(std::abs(recorded_of(100'000, 100) - 9516) < 560);
}

TEST_CASE("either end of the range alone is a selection") {
  const Adjusted lower({.min_bytes = 1});
  CHECK(AdjustableSampling::selects());
  const Adjusted upper({.max_bytes = UINT64_MAX - 1});
  CHECK(AdjustableSampling::selects());
  const Adjusted mean({.mean_bytes = 2});
  CHECK(AdjustableSampling::selects());
}

TEST_CASE("stacks are taken of the sizes in the range, sampled or not") {
  for (const std::uint64_t mean : {0U, 50U}) {
    const Adjusted adjusted({.mean_bytes = mean, .min_bytes = 100, .max_bytes = 200});
    CHECK(AdjustableSampling::records_everything() == (mean == 0));
    int seen[3] = {0, 0, 0};
    for (int i = 0; i < 1000; ++i) {
      for (const std::size_t size : {99U, 100U, 200U, 201U}) {
        const SampleDecision decision = decide(size);
        ++seen[static_cast<int>(decision)];
        if (decision == SampleDecision::kWithStack) CHECK((size == 100 || size == 200));
        if (decision == SampleDecision::kWithoutStack) CHECK((size == 99 || size == 201));
      }
    }
    CHECK((seen[0] > 0) == (mean != 0));
    CHECK(seen[1] > 1000);
    CHECK(seen[2] > 1000);
    CHECK(AdjustableSampling::description().min_bytes == 100);
    CHECK(AdjustableSampling::description().max_bytes == 200);
  }
}
