#include <doctest/doctest.h>

#include <string>

#include "alloctap/dump/human_units.hpp"

using alloctap::check_text;

TEST_CASE("a check is its name, and its value where it has one") {
  CHECK(std::string(check_text("verify_kinds", 0).view()) == "verify_kinds");
  CHECK(std::string(check_text("rear_guard", 32, ",").view()) == "rear_guard=32,");
  CHECK(std::string(check_text("fill_on_alloc", UINT64_MAX - 1, ",").view()) ==
        "fill_on_alloc=18446744073709551614,");
}
