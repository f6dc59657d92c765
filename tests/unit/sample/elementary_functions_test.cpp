#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "alloctap/sample/poisson_sampler.hpp"

namespace {

bool agree(double one, double other) {
  return std::abs(one - other) <= 4e-15 * std::max(std::abs(one), std::abs(other)) + 1e-300;
}

}  // namespace

TEST_CASE("the natural logarithm is the C library's") {
  for (double x = 1e-300; x < 1e300; x *= 1.37) {
    CAPTURE(x);
    CHECK(agree(alloctap::natural_log(x), std::log(x)));
  }
  for (double x = 0.5; x < 2; x += 0.001) {
    CAPTURE(x);
    CHECK(std::abs(alloctap::natural_log(x) - std::log(x)) < 1e-15);
  }
  CHECK(alloctap::natural_log(1) == 0);
}

TEST_CASE("1 - exp(-x) is the C library's, also where it is tiny") {
  for (double x = 1e-18; x < 1e5; x *= 1.07) {
    CAPTURE(x);
    CHECK(agree(alloctap::one_minus_exp(x), -std::expm1(-x)));
  }
  CHECK(alloctap::one_minus_exp(0) == 0);
}

TEST_CASE("the square root is the C library's") {
  for (double x = 1e-200; x < 1e200; x *= 1.9) {
    CAPTURE(x);
    CHECK(agree(alloctap::square_root(x), std::sqrt(x)));
  }
  CHECK(alloctap::square_root(0) == 0);
  CHECK(alloctap::square_root(4) == 2);
}
