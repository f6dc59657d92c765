#include <doctest/doctest.h>

#include "alloctap/os/patched_code.hpp"

TEST_CASE("cores are synchronized, as often as asked") {
  CHECK(alloctap::os::synchronize_cores());
  CHECK(alloctap::os::synchronize_cores());
}
