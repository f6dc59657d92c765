#include <doctest/doctest.h>

#include "alloctap/snapshot/snapshot.hpp"

using alloctap::greatest_size;
using alloctap::kSizeClasses;
using alloctap::least_size;
using alloctap::size_class;

TEST_CASE("classes of sizes lie side by side, and every size is in one") {
  CHECK(least_size(0) == 0);
  for (std::size_t i = 0; i + 1 < kSizeClasses; ++i) {
    CAPTURE(i);
    CHECK(greatest_size(i) + 1 == least_size(i + 1));
    CHECK(size_class(least_size(i)) == i);
    CHECK(size_class(greatest_size(i)) == i);
  }
  CHECK(greatest_size(kSizeClasses - 1) == UINT64_MAX);
  CHECK(size_class(UINT64_MAX) == kSizeClasses - 1);
}
