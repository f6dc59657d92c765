#include "alloctap/record/module_tracker.hpp"

#include <dlfcn.h>
#include <doctest/doctest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "alloctap/dump/json_dump.hpp"
#include "alloctap/implement.hpp"
#include "alloctap/symbol/libdw_symbolizer.hpp"
#include "tests/support/no_descriptors.hpp"
#include "tests/support/plugin_file.hpp"

namespace {

using alloctap::testing::PluginFile;
using nlohmann::json;

/// One for all tests: a process has room for a few trackers with state for each thread. So each
/// test has sizes of its own.
struct Config : alloctap::DefaultConfig {
  using Hook = alloctap::ManualHook<struct ModuleEpochsDomain>;
  using Symbolizer = alloctap::LibdwSymbolizer;
};
using Hook = Config::Hook;
using Tracker = alloctap::Tracker<Config>;

/// Loads the plugin, and tells the tracker when it goes.
class Plugin {
 public:
  explicit Plugin(const PluginFile& file) : handle_(dlopen(file.path.c_str(), RTLD_NOW)) {
    REQUIRE(handle_ != nullptr);
  }
  ~Plugin() { close(); }
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  void close() {
    if (handle_ == nullptr) return;
    Hook::on_modules_unloading();
    dlclose(handle_);
    handle_ = nullptr;
    Hook::on_modules_unloaded();
  }

  /// The plugin calls what allocates `size` bytes, several times from one place.
  void allocate(std::size_t size) {
    size_ = size;
    void* symbol = dlsym(handle_, "plugin_call");
    REQUIRE(symbol != nullptr);
    place = reinterpret_cast<std::uintptr_t>(symbol);
    auto* call = reinterpret_cast<void (*)(void (*)())>(symbol);
    // Or the compiler makes several places of the one.
    volatile int rounds = 4;
    for (int i = 0; i < rounds; ++i) call(&allocate_one);
  }

  std::uintptr_t place = 0;

 private:
  ALLOCTAP_NOINLINE static void allocate_one() {
    static std::uintptr_t block = 0x10000;
    Hook::on_allocate(reinterpret_cast<void*>(block += 0x1000), size_);
    __asm__ volatile("" ::: "memory");
  }

  static inline std::size_t size_ = 0;
  void* handle_;
};

json report() {
  alloctap::MemoryOutput output;
  REQUIRE(Tracker::dump(alloctap::JsonDump{}, output).ok());
  return json::parse(output.text());
}

/// The frame whose stack holds `live_bytes` and that is in the plugin.
json plugin_frame(const json& report, std::uint64_t live_bytes) {
  for (const json& stack : report["stacks"]) {
    if (stack["live_bytes"] != live_bytes) continue;
    for (const json& index : stack["frames"]) {
      const json& frame = report["frames"][index.get<std::size_t>()];
      const json& module = frame["module"];
      if (module.is_null()) continue;
      const json& path = report["modules"][module.get<std::size_t>()]["path"];
      if (path.get<std::string>().find("plugin.so") != std::string::npos) return frame;
    }
  }
  return {};
}

std::size_t unloaded_modules(const json& report) {
  std::size_t count = 0;
  for (const json& module : report["modules"]) count += module["unloaded"] == true ? 1 : 0;
  return count;
}

std::string function_of(const json& frame) {
  if (frame.is_null()) return "no frame in the plugin";
  return frame["function"].is_null() ? "?" : frame["function"].get<std::string>();
}

/// What a thread remembers of stacks is a part of what is tested. Not the main one, whose stack
/// other tests overwrite.
template <class Work>
void on_one_thread(Work work) {
  std::thread(work).join();
}

}  // namespace

TEST_CASE("a plug-in that was closed, built anew and opened at its place shows both generations") {
  on_one_thread([] {
    const auto session = Tracker::start();
    REQUIRE(session.ok());
    const PluginFile file(ALLOCTAP_PLUGIN_FIRST);
    Plugin first(file);
    first.allocate(100);
    first.close();
    file.replace_by(ALLOCTAP_PLUGIN_SECOND);
    Plugin second(file);
    second.allocate(7);
    REQUIRE(first.place == second.place);

    const json result = report();
    const json old_frame = plugin_frame(result, 400);
    const json new_frame = plugin_frame(result, 28);
    CHECK(function_of(old_frame).starts_with("first_build::(anonymous namespace)::call_back("));
    CHECK(function_of(new_frame).starts_with("second_build::(anonymous namespace)::call_back("));
    CHECK(old_frame["address"] == new_frame["address"]);
    CHECK(old_frame["line"] == new_frame["line"]);
    const json& modules = result["modules"];
    const json& old_module = modules[old_frame["module"].get<std::size_t>()];
    const json& new_module = modules[new_frame["module"].get<std::size_t>()];
    CHECK(old_module["unloaded"] == true);
    CHECK(new_module["unloaded"] == false);
    CHECK(old_module["build_id"] != new_module["build_id"]);
    CHECK(old_module["path"] == file.path);

    alloctap::MemoryOutput text;
    REQUIRE(Tracker::dump(alloctap::TextDump{}, text).ok());
    CHECK(text.text().find("first_build::(anonymous namespace)::call_back") != text.text().npos);
    CHECK(text.text().find("second_build::(anonymous namespace)::call_back") != text.text().npos);
    CHECK(text.text().find("(unloaded)\n") != text.text().npos);
  });
}

TEST_CASE("generation after generation is told from the others") {
  on_one_thread([] {
    const auto session = Tracker::start();
    REQUIRE(session.ok());
    const std::size_t before = unloaded_modules(report());
    const PluginFile file(ALLOCTAP_PLUGIN_FIRST);
    for (std::size_t i = 1; i <= 6; ++i) {
      file.replace_by(i % 2 == 1 ? ALLOCTAP_PLUGIN_FIRST : ALLOCTAP_PLUGIN_SECOND);
      Plugin plugin(file);
      plugin.allocate(i * 1000);
    }
    const json result = report();
    for (std::size_t i = 1; i <= 6; ++i) {
      const std::string build = i % 2 == 1 ? "first_build::" : "second_build::";
      CAPTURE(i);
      CHECK(function_of(plugin_frame(result, i * 4000)).starts_with(build));
    }
    CHECK(unloaded_modules(result) == before + 6);
  });
}

TEST_CASE("stacks that have nothing to do with what was unloaded go on as they were") {
  on_one_thread([] {
    const auto session = Tracker::start();
    REQUIRE(session.ok());
    const std::size_t before = unloaded_modules(report());
    const std::size_t stacks_before = report()["stacks"].size();
    const PluginFile file(ALLOCTAP_PLUGIN_FIRST);
    volatile std::uintptr_t rounds = 4;
    for (std::uintptr_t i = 1; i <= rounds; ++i) {
      Hook::on_allocate(reinterpret_cast<void*>(i * 0x100), 50);
      Plugin plugin(file);
      if (i == 2) plugin.allocate(1);
    }
    const json result = report();
    CHECK(result["stacks"].size() == stacks_before + 2);
    CHECK(unloaded_modules(result) == before + 1);
  });
}

TEST_CASE(
    "where the system tells nothing of modules, none counts as unloaded, and they keep names") {
  on_one_thread([] {
    const auto session = Tracker::start();
    REQUIRE(session.ok());
    const PluginFile file(ALLOCTAP_PLUGIN_FIRST);
    Plugin plugin(file);
    plugin.allocate(1000);
    const json before = report();
    alloctap::MemoryOutput output;
    {
      const alloctap::testing::NoDescriptors none;
      REQUIRE(Tracker::dump(alloctap::JsonDump{}, output).ok());
    }
    const json blind = json::parse(output.text());
    CHECK(unloaded_modules(blind) == unloaded_modules(before));
    CHECK(blind["modules"] == before["modules"]);
    CHECK_FALSE(plugin_frame(blind, 4000)["module"].is_null());
    CHECK(function_of(plugin_frame(report(), 4000)).starts_with("first_build::"));
  });
}
