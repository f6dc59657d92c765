#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <string>

#include "alloctap/os/module_symbols.hpp"
#include "tests/support/windows/plugin_library.hpp"

namespace {

using alloctap::os::ModuleNotice;
using alloctap::os::ModuleNotices;
using alloctap::testing::PluginLibrary;

/// As a listener has to: without memory of the host's.
struct Heard {
  ModuleNotice::What what{};
  std::uintptr_t start = 0;
  std::uintptr_t end = 0;
  bool begins_with_header = false;
  std::array<char, 512> path{};
};
constinit std::array<Heard, 16> heard{};
constinit std::size_t count = 0;

void listen(const ModuleNotice& notice) noexcept {
  if (count == heard.size()) return;
  Heard& next = heard[count++];
  next = {.what = notice.what, .start = notice.start, .end = notice.end};
  next.begins_with_header = std::memcmp(reinterpret_cast<void*>(notice.start), "MZ", 2) == 0;
  notice.path.copy(next.path.data(), next.path.size() - 1);
}

constinit ModuleNotices notices{&listen};

}  // namespace

TEST_CASE("a module that comes and one that goes are told of, while they are in memory") {
  count = 0;
  REQUIRE(notices.start() == 0);
  PluginLibrary plugin(ALLOCTAP_PLUGIN_FIRST);
  const std::uintptr_t start = plugin.start();
  REQUIRE(count == 1);
  CHECK(heard[0].what == ModuleNotice::What::kLoaded);
  CHECK(heard[0].start == start);
  plugin.close();
  REQUIRE(count == 2);
  CHECK(heard[1].what == ModuleNotice::What::kUnloading);
  CHECK(heard[1].start == start);
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    CHECK(heard[i].end > start + 4096);
    CHECK(heard[i].begins_with_header);
    const std::string path(heard[i].path.data());
    CHECK(path.ends_with("/alloctap_plugin_first.dll"));
    CHECK(path.substr(1, 2) == ":/");
  }
  notices.stop();
}

TEST_CASE("who has stopped listening hears nothing, and may listen again") {
  REQUIRE(notices.start() == 0);
  notices.stop();
  count = 0;
  {
    const PluginLibrary plugin(ALLOCTAP_PLUGIN_FIRST);
  }
  CHECK(count == 0);
  notices.stop();
  REQUIRE(notices.start() == 0);
  {
    const PluginLibrary plugin(ALLOCTAP_PLUGIN_FIRST);
  }
  CHECK(count == 2);
  notices.stop();
}

TEST_CASE("a module that is loaded once more is no new one") {
  const PluginLibrary plugin(ALLOCTAP_PLUGIN_FIRST);
  REQUIRE(notices.start() == 0);
  count = 0;
  {
    const PluginLibrary again(ALLOCTAP_PLUGIN_FIRST);
  }
  CHECK(count == 0);
  notices.stop();
}
