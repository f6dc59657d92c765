#include "alloctap/symbol/system_symbolizer.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/support/windows/plugin_library.hpp"

namespace {

using alloctap::CodeAddress;
using alloctap::Module;
using alloctap::ModuleTable;
using alloctap::SourceFrame;
using alloctap::Symbols;
using alloctap::SystemSymbolizer;
using alloctap::testing::PluginLibrary;

static_assert(SystemSymbolizer::kExists);
static_assert(std::is_same_v<alloctap::DefaultSymbolizer, SystemSymbolizer>);

/// A place in the plugin, and in which module that is.
struct PluginPlace {
  explicit PluginPlace(const PluginLibrary& plugin, const char* function)
      : address(reinterpret_cast<std::uintptr_t>(plugin.function<const void*()>(function)()) - 1),
        modules(ModuleTable::read()) {
    REQUIRE(modules.find(address) != nullptr);
    module = *modules.find(address);
    REQUIRE(module.start == plugin.start());
  }

  std::uintptr_t address;
  ModuleTable modules;
  Module module;
};

struct Frame {
  std::string function;
  std::string file;
  std::uint32_t line;
};

std::vector<Frame> frames_of(std::uintptr_t address, const Module* module) {
  Symbols symbols;
  REQUIRE(symbols.expect(1));
  const CodeAddress place{.address = address, .module = module};
  SystemSymbolizer::symbolize({&place, 1}, symbols);
  std::vector<Frame> frames;
  for (const SourceFrame& frame : symbols.of(0)) {
    frames.push_back({std::string(frame.function), std::string(frame.file), frame.line});
  }
  return frames;
}

/// The line of the plugin's source that is marked so.
std::uint32_t marked_line(const std::string& mark) {
  std::ifstream source(ALLOCTAP_SOURCES "/tests/support/symbolized_plugin.cpp");
  std::string text;
  for (std::uint32_t line = 1; std::getline(source, text); ++line) {
    if (text.ends_with("// MARK " + mark) || text.ends_with("// MARK " + mark + "\r")) return line;
  }
  return 0;
}

}  // namespace

TEST_CASE("an inlined call of a Windows library is all functions that it is in") {
  const PluginLibrary plugin(ALLOCTAP_PLUGIN_FIRST);
  const PluginPlace place(plugin, "plugin_place");
  const auto frames = frames_of(place.address, &place.module);
  REQUIRE(frames.size() == 3);
  CHECK(frames[0].function.ends_with("innermost"));
  CHECK(frames[1].function.ends_with("call"));
  CHECK(frames[2].function.ends_with("outer"));
  // Wine may have an inlined function at the line of the call that it is in.
  const std::uint32_t line = frames[0].line;
  CHECK((line == marked_line("innermost") || line == marked_line("outer")));
  for (const Frame& frame : frames) {
    CHECK(frame.file.ends_with("/tests/support/symbolized_plugin.cpp"));
    CHECK(frame.line > 0);
  }
}

TEST_CASE("a call of a Windows library has a function, a file and a line") {
  const PluginLibrary plugin(ALLOCTAP_PLUGIN_FIRST);
  const PluginPlace place(plugin, "plugin_exported_place");
  const auto frames = frames_of(place.address, &place.module);
  REQUIRE(frames.size() == 1);
  CHECK(frames[0].function == "first_build::exported");
  CHECK(frames[0].file.ends_with("/tests/support/symbolized_plugin.cpp"));
  CHECK(frames[0].line == marked_line("exported"));
}

TEST_CASE("a Windows library that was freed is asked for all the same") {
  PluginLibrary plugin(ALLOCTAP_PLUGIN_FIRST);
  const PluginPlace place(plugin, "plugin_exported_place");
  plugin.close();
  REQUIRE(ModuleTable::read().find(place.address) == nullptr);
  const auto frames = frames_of(place.address, &place.module);
  REQUIRE(frames.size() == 1);
  CHECK(frames[0].function == "first_build::exported");
}

TEST_CASE("two libraries that were at one place are told apart in one answer") {
  PluginLibrary first(ALLOCTAP_PLUGIN_FIRST);
  const PluginPlace old_place(first, "plugin_exported_place");
  first.close();
  const PluginLibrary second(ALLOCTAP_PLUGIN_SYMBOLS);
  const PluginPlace new_place(second, "plugin_exported_place");
  REQUIRE(old_place.module.start == new_place.module.start);
  Symbols symbols;
  REQUIRE(symbols.expect(2));
  const CodeAddress places[] = {{old_place.address, &old_place.module},
                                {new_place.address, &new_place.module}};
  SystemSymbolizer::symbolize(places, symbols);
  REQUIRE(symbols.of(0).size() == 1);
  CHECK(symbols.of(0)[0].function == "first_build::exported");
  REQUIRE(symbols.of(1).size() == 1);
  CHECK(symbols.of(1)[0].function == "symbols_build::exported()");
}

TEST_CASE("a library without debug information has the names of its symbol table") {
  const PluginLibrary plugin(ALLOCTAP_PLUGIN_SYMBOLS);
  const PluginPlace place(plugin, "plugin_place");
  const auto frames = frames_of(place.address, &place.module);
  REQUIRE(frames.size() == 1);
  CHECK(frames[0].function == "symbols_build::(anonymous namespace)::outer()");
  CHECK(frames[0].line == 0);
}

TEST_CASE("a library without symbols has the names that it exports, and no others") {
  const PluginLibrary plugin(ALLOCTAP_PLUGIN_EXPORTS);
  const PluginPlace exported(plugin, "plugin_exported_place");
  const auto frames = frames_of(exported.address, &exported.module);
  REQUIRE(frames.size() == 1);
  CHECK(frames[0].function == "exports_build::exported()");
  const PluginPlace hidden(plugin, "plugin_place");
  CHECK(frames_of(hidden.address, &hidden.module).empty());
}

TEST_CASE("a file that is not the one that was loaded is not asked") {
  const PluginLibrary plugin(ALLOCTAP_PLUGIN_FIRST);
  PluginPlace place(plugin, "plugin_exported_place");
  place.module.build_id[0] ^= std::byte{1};
  CHECK(frames_of(place.address, &place.module).empty());
  place.module.build_id[0] ^= std::byte{1};
  place.module.path = "C:/no/such/library.dll";
  CHECK(frames_of(place.address, &place.module).empty());
}

TEST_CASE("nobody has a name who is in no module, or in no code of one") {
  CHECK(frames_of(0x1000, nullptr).empty());
  const PluginLibrary plugin(ALLOCTAP_PLUGIN_FIRST);
  const PluginPlace place(plugin, "plugin_place");
  CHECK(frames_of(place.module.start + 8, &place.module).empty());
  CHECK(frames_of(place.module.end - 1, &place.module).empty());
}

TEST_CASE("the options that the program gave DbgHelp are as they were") {
  CHECK(SystemSymbolizer::note().empty());
  const auto& library = alloctap::os::DbgHelp::get();
  const DWORD before = library.get_options();
  library.set_options(SYMOPT_CASE_INSENSITIVE);
  const PluginLibrary plugin(ALLOCTAP_PLUGIN_FIRST);
  const PluginPlace place(plugin, "plugin_place");
  CHECK(frames_of(place.address, &place.module).size() == 3);
  CHECK(library.get_options() == SYMOPT_CASE_INSENSITIVE);
  library.set_options(before);
}
