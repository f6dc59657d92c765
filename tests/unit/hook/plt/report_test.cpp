#include <doctest/doctest.h>

#include <array>

#include "alloctap/hook/plt/engine.hpp"

namespace {

using namespace alloctap;

PltModule module_at(std::string_view path, std::uint32_t hooked = 0) {
  PltModule module;
  module.path = path;
  module.groups = group_bit(0) | group_bit(kLoaderGroup);
  module.hooked = hooked;
  return module;
}

ArenaArray<PltModule> modules_of(std::initializer_list<PltModule> modules) {
  ArenaArray<PltModule> array;
  for (const PltModule& module : modules) REQUIRE(array.push_back(module));
  return array;
}

/// A selection, with the state that names it.
struct Selected {
  ModuleSelection selection;
  std::array<const ModuleSelection*, 2> selections{&selection, &selection};
  PltState state;

  Selected() { state.selections = selections; }
  ~Selected() { selection.clear(); }
  Selected(const Selected&) = delete;
  Selected& operator=(const Selected&) = delete;
};

}  // namespace

TEST_CASE("a module of which all is hooked needs no words") {
  CHECK(why_skipped(module_at("/a", 3)).empty());
}

TEST_CASE("every reason is told, with its number") {
  PltModule module = module_at("/a", 3);
  module.foreign = 1;
  CHECK(why_skipped(module) == "1 lead to another allocator or to another tool's hook");
  module.unfinished = 2;
  module.refused = 4;
  CHECK(why_skipped(module) ==
        "1 lead to another allocator or to another tool's hook; 2 are in a module that is still "
        "being opened; 4 could not be made writable");
}

TEST_CASE("why nothing is hooked") {
  CHECK(why_skipped(module_at("/a")) == "it imports none of the functions");
  PltModule left_out = module_at("/a");
  left_out.groups = group_bit(kLoaderGroup);
  CHECK(why_skipped(left_out) == "no pattern chooses it");
  PltModule gone = module_at("/a");
  gone.is_mapped = false;
  gone.groups = 0;
  CHECK(why_skipped(gone) == "its memory was unmapped behind the loader's back");
}

TEST_CASE("a report sums up its modules") {
  Selected selected;
  PltModule skipped = module_at("/b", 1);
  skipped.foreign = 2;
  skipped.refused = 3;
  PltModule nameless = module_at("");
  nameless.name = "linux-vdso.so.1";
  const PltReport report =
      make_plt_report(selected.state, modules_of({module_at("/a", 4), skipped, nameless}));
  REQUIRE(report.modules.size() == 3);
  CHECK(report.hooked_slots == 5);
  CHECK(report.modules[0].hooked == 4);
  CHECK(report.modules[0].skipped == 0);
  CHECK(report.modules[1].skipped == 5);
  CHECK(report.modules[2].path == "linux-vdso.so.1");
  CHECK(report.warnings.empty());
}

TEST_CASE("patterns without effect are warned of, each once") {
  Selected selected;
  REQUIRE(selected.selection.modules_matching("/absent").ok());
  REQUIRE(selected.selection.modules_matching("/idle").ok());
  REQUIRE(selected.selection.modules_matching("/busy").ok());
  REQUIRE(selected.selection.modules_not_matching("/idle_too").ok());
  const auto modules =
      modules_of({module_at("/idle"), module_at("/idle_too"), module_at("/busy", 1)});
  CHECK(
      make_plt_report(selected.state, modules).warnings ==
      std::vector<std::string>{"pattern \"/absent\" matches no loaded module",
                               "pattern \"/idle\" matches 2 modules, which have nothing to hook"});
}

TEST_CASE("a pattern matches what the loader calls a module, too") {
  Selected selected;
  REQUIRE(selected.selection.modules_matching("^/link$").ok());
  PltModule module = module_at("/file", 1);
  module.name = "/link";
  CHECK(make_plt_report(selected.state, modules_of({module})).warnings.empty());
}

TEST_CASE("calls of dlopen that nothing could be done behind are warned of") {
  Selected selected;
  PltState::opened_blindly = 7;
  const PltReport report = make_plt_report(selected.state, modules_of({}));
  PltState::opened_blindly = 0;
  REQUIRE(report.warnings.size() == 1);
  CHECK(report.warnings[0].starts_with("7 calls of dlopen came from code without unwind tables"));
}

TEST_CASE("modules that were hooked late are warned of") {
  Selected selected;
  PltState::refreshes_put_off = 3;
  const PltReport report = make_plt_report(selected.state, modules_of({}));
  PltState::refreshes_put_off = 0;
  REQUIRE(report.warnings.size() == 1);
  CHECK(report.warnings[0].starts_with("3 times a module was not hooked as soon as it was opened"));
}
