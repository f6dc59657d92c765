#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "alloctap/symbol/module_history.hpp"

namespace {

using alloctap::Module;
using alloctap::StackId;
using alloctap::UnloadedModuleQueue;

struct Seen {
  std::uintptr_t start;
  StackId before;
  std::string path;
};

std::vector<Seen> take(UnloadedModuleQueue& departed, std::size_t most = SIZE_MAX) {
  std::vector<Seen> seen;
  departed.take([&](const Module& module, StackId before) {
    if (seen.size() == most) return false;
    seen.push_back({module.start, before, std::string(module.path)});
    return true;
  });
  return seen;
}

Module module_at(std::uintptr_t start, std::string_view path) {
  Module module;
  module.start = start;
  module.path = path;
  return module;
}

}  // namespace

TEST_CASE("modules that departed are given out once, the first first, with paths of their own") {
  static constinit UnloadedModuleQueue departed;
  std::string path = "/one";
  departed.add(module_at(0x1000, path), 7);
  path = "/two";
  departed.add(module_at(0x2000, path), 8);
  path = "/three";
  const auto seen = take(departed);
  REQUIRE(seen.size() == 2);
  CHECK(seen[0].start == 0x1000);
  CHECK(seen[0].before == 7);
  CHECK(seen[0].path == "/one");
  CHECK(seen[1].path == "/two");
  CHECK(take(departed).empty());
}

TEST_CASE("a module that nobody has the time for stays, with those behind it") {
  static constinit UnloadedModuleQueue departed;
  for (std::uintptr_t i = 1; i <= 3; ++i) departed.add(module_at(i, "x"), 3);
  CHECK(take(departed, 1).size() == 1);
  const auto rest = take(departed);
  REQUIRE(rest.size() == 2);
  CHECK(rest[0].start == 2);
}

TEST_CASE("modules without room are left out, which is told once, and there is room again") {
  static constinit UnloadedModuleQueue departed;
  for (std::uintptr_t i = 1; i <= UnloadedModuleQueue::kCapacity; ++i) {
    departed.add(module_at(i, "x"), 3);
  }
  CHECK_FALSE(departed.take_overflow());
  departed.add(module_at(99, "x"), 3);
  CHECK(departed.take_overflow());
  CHECK_FALSE(departed.take_overflow());
  CHECK(take(departed).size() == UnloadedModuleQueue::kCapacity);
  departed.add(module_at(100, "x"), 3);
  const auto seen = take(departed);
  REQUIRE(seen.size() == 1);
  CHECK(seen[0].start == 100);
}
