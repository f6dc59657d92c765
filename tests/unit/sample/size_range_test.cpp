#include "alloctap/sample/size_range.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>

#include "alloctap/sample/poisson_by_bytes.hpp"

namespace {

using alloctap::PoissonByBytes;
using alloctap::SampleDecision;
using alloctap::SizeRange;
using alloctap::ThreadStates;

template <class Policy>
SampleDecision decide(std::size_t size) {
  return Policy::decide(*ThreadStates::mine(), size);
}

}  // namespace

TEST_CASE("stacks are taken of the sizes in the range, its ends included") {
  using Policy = SizeRange<16, 64>;
  static_assert(Policy::records_everything());
  for (const std::size_t size : {16U, 17U, 63U, 64U}) {
    CHECK(decide<Policy>(size) == SampleDecision::kWithStack);
  }
  for (const std::size_t size : {std::size_t{0}, std::size_t{15}, std::size_t{65}, SIZE_MAX}) {
    CHECK(decide<Policy>(size) == SampleDecision::kWithoutStack);
  }
  CHECK(Policy::weight(5) == 1);
  CHECK(Policy::description().name == "every-allocation");
  CHECK(Policy::description().min_bytes == 16);
  CHECK(Policy::description().max_bytes == 64);
}

TEST_CASE("over a policy that samples, the range decides on stacks alone") {
  using Inner = PoissonByBytes<1000>;
  using Policy = SizeRange<100, 200, Inner>;
  static_assert(!Policy::records_everything());
  int recorded[2] = {0, 0};
  for (int i = 0; i < 10'000; ++i) {
    const SampleDecision inside = decide<Policy>(150);
    const SampleDecision outside = decide<Policy>(50);
    CHECK(inside != SampleDecision::kWithoutStack);
    CHECK(outside != SampleDecision::kWithStack);
    if (inside != SampleDecision::kSkip) ++recorded[0];
    if (outside != SampleDecision::kSkip) ++recorded[1];
  }
  // 1393 and 488 are to be expected; six standard deviations around.
  CHECK(std::abs(recorded[0] - 1393) < 210);
  CHECK(std::abs(recorded[1] - 488) < 130);
  CHECK(Policy::weight(150) == Inner::weight(150));
  CHECK(Policy::description().name == "poisson-by-bytes");
  CHECK(Policy::description().mean_bytes == 1000);
}

TEST_CASE("a range in a range is what both have in common") {
  using Policy = SizeRange<10, 100, SizeRange<50, 500>>;
  CHECK(decide<Policy>(49) == SampleDecision::kWithoutStack);
  CHECK(decide<Policy>(50) == SampleDecision::kWithStack);
  CHECK(decide<Policy>(100) == SampleDecision::kWithStack);
  CHECK(decide<Policy>(101) == SampleDecision::kWithoutStack);
  CHECK(Policy::description().min_bytes == 50);
  CHECK(Policy::description().max_bytes == 100);
}
