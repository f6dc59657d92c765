#include "alloctap/record/module_tracker.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "alloctap/dump/json_dump.hpp"
#include "alloctap/implement.hpp"
#include "alloctap/stack/unwind_rules.hpp"
#include "tests/support/windows/plugin_library.hpp"

namespace {

using alloctap::UnwindRule;
using alloctap::UnwindRules;
using alloctap::testing::PluginLibrary;
using nlohmann::json;

/// Names a place by the first byte of its module's path behind the last '/', as known at that time.
struct PathSymbolizer {
  static constexpr std::string_view name = "paths";

  static void symbolize(std::span<const alloctap::CodeAddress> places,
                        alloctap::Symbols& symbols) noexcept {
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (places[i].module != nullptr) symbols.add(i, {.function = places[i].module->path});
    }
  }
};

struct Config : alloctap::DefaultConfig {
  using Hook = alloctap::ManualHook<struct WindowsModuleEpochsDomain>;
  using Symbolizer = PathSymbolizer;
};
using Hook = Config::Hook;
using Tracker = alloctap::Tracker<Config>;

std::size_t block_size = 0;

ALLOCTAP_NOINLINE void allocate_one() {
  static std::uintptr_t block = 0x10000;
  Hook::on_allocate(reinterpret_cast<void*>(block += 0x1000), block_size);
  __asm__ volatile("" ::: "memory");
}

/// The plugin calls what allocates `size` bytes, several times from one place.
void allocate_by(const PluginLibrary& plugin, std::size_t size) {
  block_size = size;
  auto* const call = plugin.function<void(void (*)())>("plugin_call");
  volatile int rounds = 4;
  for (int i = 0; i < rounds; ++i) call(&allocate_one);
}

json report() {
  alloctap::MemoryOutput output;
  REQUIRE(Tracker::dump(alloctap::JsonDump{}, output).ok());
  return json::parse(output.text());
}

/// What the frame in the plugin is called, of the stack that holds `live_bytes`.
std::string plugin_function(const json& report, std::uint64_t live_bytes) {
  for (const json& stack : report["stacks"]) {
    if (stack["live_bytes"] != live_bytes) continue;
    for (const json& index : stack["frames"]) {
      const json& frame = report["frames"][index.get<std::size_t>()];
      const std::string function = frame.value("function", std::string());
      if (function.find("plugin") != std::string::npos) return function;
    }
  }
  return "no frame in the plugin";
}

/// What a thread remembers of stacks is a part of what is tested. Not the main one, whose stack
/// other tests overwrite.
template <class Work>
void on_one_thread(Work work) {
  std::thread(work).join();
}

}  // namespace

TEST_CASE("a library that was freed keeps its names, and another at its place has its own") {
  on_one_thread([] {
    const auto session = Tracker::start();
    REQUIRE(session.ok());
    PluginLibrary first(ALLOCTAP_PLUGIN_FIRST);
    const std::uintptr_t place = first.start();
    allocate_by(first, 100);
    first.close();
    const PluginLibrary second(ALLOCTAP_PLUGIN_SECOND);
    REQUIRE(second.start() == place);
    allocate_by(second, 7);

    const json result = report();
    CHECK(plugin_function(result, 400).ends_with("/alloctap_plugin_first.dll"));
    CHECK(plugin_function(result, 28).ends_with("/alloctap_plugin_second.dll"));
  });
}

TEST_CASE(
    "generation after generation is told from the others, by whoever calls them from one place") {
  on_one_thread([] {
    const auto session = Tracker::start();
    REQUIRE(session.ok());
    volatile std::size_t generations = 6;
    for (std::size_t i = 1; i <= generations; ++i) {
      const PluginLibrary plugin(i % 2 == 1 ? ALLOCTAP_PLUGIN_FIRST : ALLOCTAP_PLUGIN_SECOND);
      allocate_by(plugin, i * 10'000);
    }
    const json result = report();
    for (std::size_t i = 1; i <= generations; ++i) {
      const char* const name = i % 2 == 1 ? "_first.dll" : "_second.dll";
      CHECK(plugin_function(result, i * 40'000).ends_with(name));
    }
  });
}

TEST_CASE("libraries that come and go while a report is due are told apart by the next one") {
  on_one_thread([] {
    const auto session = Tracker::start();
    REQUIRE(session.ok());
    PluginLibrary first(ALLOCTAP_PLUGIN_FIRST);
    allocate_by(first, 1000);
    {
      const std::lock_guard dump(alloctap::control_lock);
      first.close();
    }
    CHECK(plugin_function(report(), 4000).ends_with("/alloctap_plugin_first.dll"));
    const PluginLibrary second(ALLOCTAP_PLUGIN_SECOND);
    allocate_by(second, 70);
    CHECK(plugin_function(report(), 280).ends_with("/alloctap_plugin_second.dll"));
    CHECK(plugin_function(report(), 4000).ends_with("/alloctap_plugin_first.dll"));
  });
}

TEST_CASE("the next session knows what went in the one before") {
  on_one_thread([] {
    auto session = Tracker::start();
    REQUIRE(session.ok());
    PluginLibrary first(ALLOCTAP_PLUGIN_FIRST);
    allocate_by(first, 2000);
    first.close();
    session->end();
    session = Tracker::start();
    REQUIRE(session.ok());
    const PluginLibrary second(ALLOCTAP_PLUGIN_SECOND);
    allocate_by(second, 9);
    const json result = report();
    CHECK(plugin_function(result, 8000).ends_with("/alloctap_plugin_first.dll"));
    CHECK(plugin_function(result, 36).ends_with("/alloctap_plugin_second.dll"));
  });
}

TEST_CASE("no unwind rule of a library outlives it") {
  const auto session = Tracker::start();
  REQUIRE(session.ok());
  PluginLibrary plugin(ALLOCTAP_PLUGIN_FIRST);
  const auto address = reinterpret_cast<std::uintptr_t>(plugin.function<void()>("plugin_call"));
  const auto old_epoch = UnwindRules::epoch();
  REQUIRE(UnwindRules::find(address + 1, old_epoch).kind != UnwindRule::Kind::kNone);
  plugin.close();
  CHECK(UnwindRules::epoch() != old_epoch);
  CHECK(UnwindRules::find(address + 1, UnwindRules::epoch()).kind == UnwindRule::Kind::kNone);

  // Walked through between its notice and its end, as a thread may that runs in it.
  const auto between = UnwindRules::epoch();
  const PluginLibrary next(ALLOCTAP_PLUGIN_SECOND);
  CHECK(UnwindRules::epoch() != between);
  const auto loaded = UnwindRules::epoch();
  {
    const PluginLibrary again(ALLOCTAP_PLUGIN_SECOND);
  }
  CHECK(UnwindRules::epoch() == loaded);
}
