#include "alloctap/os/core_synchronization.hpp"

#include <doctest/doctest.h>

TEST_CASE("cores are synchronized, as often as asked") {
  CHECK(alloctap::os::synchronize_cores());
  CHECK(alloctap::os::synchronize_cores());
}
