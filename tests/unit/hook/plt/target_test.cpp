#include "alloctap/hook/plt/target.hpp"

#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <string>

using alloctap::PltTargets;

TEST_CASE("targets are found by their names, and by nothing that begins or ends like them") {
  const auto targets = std::make_unique<PltTargets>();
  for (const char* name : {"malloc", "free", "_Znwm", "_Znam"}) {
    REQUIRE(targets->add({.name = name}));
  }
  for (const char* name : {"malloc", "free", "_Znwm", "_Znam"}) {
    const std::string copy = name;
    REQUIRE(targets->find(copy.c_str()) != nullptr);
    CHECK(targets->find(copy.c_str())->name == name);
  }
  for (const char* name : {"", "m", "mal", "mallo", "malloc_", "malloc_usable_size", "fre", "freed",
                           "_Znwj", "_Z", "xfree"}) {
    CAPTURE(name);
    CHECK(targets->find(name) == nullptr);
  }
  targets->clear();
  CHECK(targets->find("malloc") == nullptr);
}

TEST_CASE("there is room for so many targets, and not for one more") {
  const auto targets = std::make_unique<PltTargets>();
  for (std::size_t i = 0; i < PltTargets::kMaxCount; ++i) REQUIRE(targets->add({.name = "name"}));
  CHECK_FALSE(targets->add({.name = "name"}));
}
