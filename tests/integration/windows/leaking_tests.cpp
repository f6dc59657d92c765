// Unit tests of a program of Windows, some of which leak: what they print is held to what is meant.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "alloctap/hook/windows_import_hook.hpp"
#include "alloctap/implement.hpp"
#include "alloctap/testing/doctest_adapter.hpp"
#include "alloctap/testing/expectations.hpp"
#include "alloctap/testing/test_config.hpp"

namespace {

struct Config : alloctap::testing::TestConfig {
  using Hook = alloctap::WindowsImportHook;
  using Symbolizer = alloctap::DefaultSymbolizer;
};

// Nobody knows what is there.
void* volatile lost = nullptr;

std::vector<int>& cache() {
  static std::vector<int> numbers;
  return numbers;
}

}  // namespace

TEST_CASE("leaks what malloc gave") {
  SUBCASE("in a part") { lost = std::malloc(77); }
  CHECK(lost != nullptr);
}

TEST_CASE("leaks on a thread") {
  std::thread([] { lost = ::operator new(55); }).join();
  CHECK(lost != nullptr);
}

TEST_CASE("fills a cache") {
  if (cache().empty()) cache().resize(1000);
  CHECK(cache().size() == 1000);
}

TEST_CASE("is tidy") {
  const auto text = std::make_unique<std::string>(500, 'x');
  CHECK(text->size() == 500);
}

TEST_CASE("allocates by mistake") {
  alloctap::testing::expect_no_allocation([] {
    lost = std::malloc(33);
    std::free(lost);
  });
}

int main(int argc, char** argv) {
  return alloctap::testing::run_doctest<alloctap::Tracker<Config>>(argc, argv);
}
