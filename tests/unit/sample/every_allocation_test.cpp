#include <doctest/doctest.h>

#include <cstdint>
#include <initializer_list>

#include "alloctap/sample/sampling_policy.hpp"

using alloctap::EveryAllocation;
using alloctap::SampleDecision;
using alloctap::ThreadStates;

TEST_CASE("every allocation is recorded with its stack and stands for itself, whatever its size") {
  static_assert(EveryAllocation::records_everything() && !EveryAllocation::selects());
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{4096}, SIZE_MAX}) {
    CHECK(EveryAllocation::decide(*ThreadStates::mine(), size) == SampleDecision::kWithStack);
    CHECK(EveryAllocation::weight(size) == 1);
  }
  CHECK(EveryAllocation::description().name == "every-allocation");
  CHECK(EveryAllocation::description().mean_bytes == 0);
}
