#include "alloctap/sample/every_allocation.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <initializer_list>

using alloctap::EveryAllocation;
using alloctap::ThreadStates;

TEST_CASE("every allocation is recorded, whatever its size") {
  CHECK(EveryAllocation::records_everything);
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{4096}, SIZE_MAX}) {
    CHECK(EveryAllocation::should_record(*ThreadStates::mine(), size));
  }
}
