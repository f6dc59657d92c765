#include "alloctap/version.hpp"

#include <doctest/doctest.h>

#include <string>

TEST_CASE("the version is the build's, and its spellings agree") {
  const std::string numbers = std::to_string(alloctap::kVersionMajor) + "." +
                              std::to_string(alloctap::kVersionMinor) + "." +
                              std::to_string(alloctap::kVersionPatch);
  CHECK(numbers == alloctap::kVersionString);
  CHECK(numbers == ALLOCTAP_PROJECT_VERSION);
}
