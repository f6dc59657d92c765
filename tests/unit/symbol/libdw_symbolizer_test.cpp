#include "alloctap/symbol/libdw_symbolizer.hpp"

#include <dlfcn.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "alloctap/symbol/libdw_files.hpp"
#include "tests/support/plugin_file.hpp"

namespace {

namespace fs = std::filesystem;
using alloctap::CodeAddress;
using alloctap::LibdwSymbolizer;
using alloctap::Module;
using alloctap::ModuleTable;
using alloctap::SourceFrame;
using alloctap::Symbols;
using alloctap::testing::PluginFile;

void run(const std::string& command) {
  CAPTURE(command);
  REQUIRE(std::system(command.c_str()) == 0);
}

/// The line of the plugin's source with that mark.
std::uint32_t line_marked(const std::string& mark) {
  std::ifstream source(std::string(ALLOCTAP_SOURCES) + "/tests/support/symbolized_plugin.cpp");
  std::string line;
  for (std::uint32_t number = 1; std::getline(source, line); ++number) {
    if (line.ends_with("// MARK " + mark)) return number;
  }
  FAIL("the plugin has no mark " << mark);
  return 0;
}

/// Moves what only debuggers read from the plugin to `debug_file`.
void strip_to(const PluginFile& file, const std::string& debug_file) {
  run(ALLOCTAP_BINUTILS_PREFIX "objcopy --only-keep-debug '" + file.path + "' '" + debug_file +
      "'");
  run(ALLOCTAP_BINUTILS_PREFIX "strip --strip-all '" + file.path + "'");
}

void strip(const PluginFile& file) { strip_to(file, file.directory.file("unused.debug")); }

/// The plugin in memory, and its module as it was then.
class LoadedPlugin {
 public:
  explicit LoadedPlugin(const PluginFile& file) : handle_(dlopen(file.path.c_str(), RTLD_NOW)) {
    REQUIRE(handle_ != nullptr);
    modules_ = ModuleTable::read();
  }
  ~LoadedPlugin() { dlclose(handle_); }
  LoadedPlugin(const LoadedPlugin&) = delete;
  LoadedPlugin& operator=(const LoadedPlugin&) = delete;

  /// The call that the plugin's function with that name tells of.
  [[nodiscard]] CodeAddress place(const char* function = "plugin_place") const {
    auto* place = reinterpret_cast<const void* (*)()>(dlsym(handle_, function));
    const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(place()) - 1;
    return {address, modules_.find(address)};
  }

 private:
  void* handle_;
  ModuleTable modules_;
};

/// "function file:line", one line for each frame; the file without its directory.
std::string text_of(std::span<const SourceFrame> frames) {
  std::string text;
  for (const SourceFrame& frame : frames) {
    text += std::string(frame.function) + " " + fs::path(frame.file).filename().string() + ":" +
            std::to_string(frame.line) + "\n";
  }
  return text;
}

std::string symbolized(const CodeAddress& place) {
  REQUIRE(place.module != nullptr);
  Symbols symbols;
  REQUIRE(symbols.expect(1));
  LibdwSymbolizer::symbolize({&place, 1}, symbols);
  return text_of(symbols.of(0));
}

// gcc gives what is local to a file no linkage name, and so no parameters where it is inlined.
#if defined(__clang__)
constexpr std::string_view kParameters = "(int)";
#else
constexpr std::string_view kParameters = "";
#endif

std::string expected_of_first_build() {
  const auto at = [](const std::string& mark) {
    return " symbolized_plugin.cpp:" + std::to_string(line_marked(mark)) + "\n";
  };
  return "first_build::innermost()" + at("innermost") +
         "first_build::(anonymous namespace)::Middle::call" + std::string(kParameters) +
         at("middle") + "first_build::(anonymous namespace)::outer()" + at("outer");
}

/// Looks for debug files below `directory` as long as this lives.
struct DebugRoot {
  explicit DebugRoot(std::string_view directory) { alloctap::libdw::debug_root = directory; }
  ~DebugRoot() { alloctap::libdw::debug_root = before; }
  DebugRoot(const DebugRoot&) = delete;
  DebugRoot& operator=(const DebugRoot&) = delete;
  std::string_view before = alloctap::libdw::debug_root;
};

/// Reads what is mapped by the process at `directory` as long as this lives.
struct ProcessDirectory {
  explicit ProcessDirectory(std::string_view directory) {
    alloctap::libdw::process_directory = directory;
  }
  ~ProcessDirectory() { alloctap::libdw::process_directory = before; }
  ProcessDirectory(const ProcessDirectory&) = delete;
  ProcessDirectory& operator=(const ProcessDirectory&) = delete;
  std::string_view before = alloctap::libdw::process_directory;
};

/// Whether this process has the capability that the links of map_files take.
bool can_read_mapped_files() {
  const ModuleTable modules = ModuleTable::read();
  return std::ranges::any_of(modules.modules(), [](const Module& module) {
    const std::string link = alloctap::libdw::find_mapped_link(module);
    return link.find("/map_files/") != link.npos && std::ifstream(link).good();
  });
}

void remove_build_id(const std::string& path) {
  run(ALLOCTAP_BINUTILS_PREFIX "objcopy --remove-section=.note.gnu.build-id '" + path + "'");
}

}  // namespace

TEST_CASE("a call is told by function, file and line, through all that was inlined") {
  const PluginFile file(ALLOCTAP_PLUGIN_FIRST);
  const LoadedPlugin plugin(file);
  CHECK(symbolized(plugin.place()) == expected_of_first_build());
}

TEST_CASE("a source file has the whole path that the compiler noted") {
  const PluginFile file(ALLOCTAP_PLUGIN_FIRST);
  const LoadedPlugin plugin(file);
  const CodeAddress place = plugin.place();
  Symbols symbols;
  REQUIRE(symbols.expect(1));
  LibdwSymbolizer::symbolize({&place, 1}, symbols);
  REQUIRE_FALSE(symbols.of(0).empty());
  CHECK(fs::exists(fs::path(symbols.of(0)[0].file)));
}

TEST_CASE("a debug file that the stripped file names beside itself is read") {
  const PluginFile file(ALLOCTAP_PLUGIN_FIRST);
  for (const char* folder : {"", ".debug/"}) {
    const PluginFile stripped(ALLOCTAP_PLUGIN_FIRST);
    fs::create_directory(stripped.directory.file(".debug"));
    const std::string debug_file = stripped.directory.file(std::string(folder) + "p.debug");
    strip_to(stripped, debug_file);
    run(ALLOCTAP_BINUTILS_PREFIX "objcopy --add-gnu-debuglink='" + debug_file + "' '" +
        stripped.path + "'");
    const LoadedPlugin plugin(stripped);
    CHECK(symbolized(plugin.place()) == expected_of_first_build());
  }
}

TEST_CASE("a debug file is found by the build-id") {
  const PluginFile file(ALLOCTAP_PLUGIN_FIRST);
  const std::string debug_file = file.directory.file("p.debug");
  strip_to(file, debug_file);
  const LoadedPlugin plugin(file);
  const std::string root = file.directory.file("root");
  const DebugRoot use(root);
  CHECK(symbolized(plugin.place()).empty());
  const fs::path place =
      alloctap::libdw::debug_path_of(alloctap::libdw::build_id_of(*plugin.place().module));
  REQUIRE(place.native().starts_with(root + "/.build-id/"));
  fs::create_directories(place.parent_path());
  fs::rename(debug_file, place);
  CHECK(symbolized(plugin.place()) == expected_of_first_build());

  // Even when the module's own file is another one by now.
  file.replace_by(ALLOCTAP_PLUGIN_SECOND);
  CHECK(symbolized(plugin.place()) == expected_of_first_build());
}

TEST_CASE("debug information that libdw cannot uncompress is hinted at once, or is read") {
  const PluginFile file(ALLOCTAP_PLUGIN_FIRST);
  if (std::system((ALLOCTAP_BINUTILS_PREFIX "objcopy --compress-debug-sections=zstd '" + file.path +
                   "' 2>/dev/null")
                      .c_str()) != 0) {
    return;
  }
  const LoadedPlugin plugin(file);
  const std::string found = symbolized(plugin.place());
  const std::string hint(LibdwSymbolizer::note());
  CAPTURE(hint);
  CHECK((found == expected_of_first_build()) == hint.empty());
  if (!hint.empty())
    CHECK(
        hint.ends_with("zstd, which this libdw cannot read; objcopy --compress-"
                       "debug-sections=zlib FILE mends it; one such file is " +
                       file.path));
  const PluginFile other(ALLOCTAP_PLUGIN_FIRST);
  const LoadedPlugin readable(other);
  CHECK(symbolized(readable.place()) == expected_of_first_build());
  CHECK(LibdwSymbolizer::note() == hint);
}

TEST_CASE("a debug file of another build is left alone") {
  const PluginFile file(ALLOCTAP_PLUGIN_FIRST);
  const PluginFile other(ALLOCTAP_PLUGIN_SECOND);
  const std::string debug_file = file.directory.file("p.debug");
  strip_to(other, debug_file);
  strip(file);
  run(ALLOCTAP_BINUTILS_PREFIX "objcopy --add-gnu-debuglink='" + debug_file + "' '" + file.path +
      "'");
  const LoadedPlugin plugin(file);
  CHECK(symbolized(plugin.place()).empty());
}

TEST_CASE("what is stripped has the names that the loader needs, and no wrong ones") {
  const PluginFile file(ALLOCTAP_PLUGIN_FIRST);
  strip(file);
  const LoadedPlugin plugin(file);
  CHECK(symbolized(plugin.place("plugin_exported_place")) == "first_build::exported() :0\n");
  CHECK(symbolized(plugin.place()).empty());
}

TEST_CASE("a file that was removed or built anew since it was loaded is read where it is mapped") {
  const PluginFile file(ALLOCTAP_PLUGIN_FIRST);
  bool has_build_id = true;
  SUBCASE("with a build-id") {}
  SUBCASE("without a build-id") { has_build_id = false; }
  if (!has_build_id) remove_build_id(file.path);
  const LoadedPlugin plugin(file);
  const CodeAddress before = plugin.place();
  fs::remove(file.path);
  const std::string expected = can_read_mapped_files() ? expected_of_first_build() : "";
  const ModuleTable modules = ModuleTable::read();
  const CodeAddress place{before.address, modules.find(before.address)};
  REQUIRE(place.module != nullptr);
  CHECK(place.module->path == file.path);
  CHECK(place.module->is_gone);
  CHECK(symbolized(place) == expected);
  fs::copy_file(ALLOCTAP_PLUGIN_SECOND, file.path);
  if (!has_build_id) remove_build_id(file.path);
  CHECK(symbolized(place) == expected);
}

TEST_CASE("where what is mapped cannot be read, a file that was built anew names nothing") {
  const ProcessDirectory none("/nowhere");
  const PluginFile file(ALLOCTAP_PLUGIN_FIRST);
  const LoadedPlugin plugin(file);
  file.replace_by(ALLOCTAP_PLUGIN_SECOND);
  CHECK(symbolized(plugin.place()).empty());
  CHECK(symbolized(plugin.place("plugin_exported_place")).empty());
}

TEST_CASE("many places of several modules are answered at once, each as if alone") {
  const PluginFile first_file(ALLOCTAP_PLUGIN_FIRST);
  const PluginFile second_file(ALLOCTAP_PLUGIN_SECOND);
  const LoadedPlugin first(first_file);
  const LoadedPlugin second(second_file);
  std::vector<CodeAddress> places;
  for (const LoadedPlugin* plugin : {&first, &second}) {
    const std::uintptr_t from = plugin->place().address - 64;
    for (std::uintptr_t address = from; address < from + 256; ++address) {
      places.push_back({address, plugin->place().module});
    }
  }
  Symbols symbols;
  REQUIRE(symbols.expect(places.size()));
  LibdwSymbolizer::symbolize(places, symbols);
  std::size_t inlined = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    CHECK(symbolized(places[i]) == text_of(symbols.of(i)));
    if (symbols.of(i).size() > 1) ++inlined;
  }
  CHECK(inlined > 0);
}
