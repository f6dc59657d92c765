#include "alloctap/hook/plt/pass.hpp"

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <string>

namespace {

using namespace alloctap;

int stand_in() { return 12345; }

/// As this program calls it: through its slot.
int call() { return static_cast<int>(::getppid()); }

std::string program() {
  char buffer[4096];
  return std::string(os::executable_path(buffer));
}

/// A state of its own that knows one function; the groups are chosen by hand.
struct OneFunction {
  explicit OneFunction(
      std::uintptr_t original = reinterpret_cast<std::uintptr_t>(dlsym(RTLD_DEFAULT, "getppid")),
      std::uintptr_t handler = reinterpret_cast<std::uintptr_t>(&stand_in)) {
    REQUIRE(state.targets.add(
        {.name = "getppid", .handler = handler, .original = original, .group = 0}));
  }
  ~OneFunction() { PltPass(state, PltAction::kUnhook).run(); }
  OneFunction(const OneFunction&) = delete;
  OneFunction& operator=(const OneFunction&) = delete;

  /// The group is that of this program alone, if `chosen`, and of no other module.
  void choose(bool chosen = true) {
    PltPass pass(state, PltAction::kLook);
    pass.run();
    for (const PltModule& module : pass.unknown()) {
      REQUIRE(state.chosen.add({.path = module.path,
                                .name = module.name,
                                .hash = ChosenModules::hash(module.path, module.name),
                                .groups = chosen && module.path == program() ? group_bit(0) : 0}));
    }
  }

  /// What a walk says of this program.
  PltModule walk(PltAction action) {
    PltPass pass(state, action);
    pass.run();
    const auto found = std::find_if(pass.modules().begin(), pass.modules().end(),
                                    [](const auto& module) { return module.path == program(); });
    missing = pass.missing().size();
    return found == pass.modules().end() ? PltModule{} : *found;
  }

  PltState state;
  std::size_t missing = 0;
};

}  // namespace

TEST_CASE("modules that no pattern was asked for are named, and left alone") {
  OneFunction one;
  const int parent = call();
  PltPass pass(one.state, PltAction::kHook);
  pass.run();
  CHECK(pass.modules().empty());
  const auto& unknown = pass.unknown();
  CHECK(unknown.size() >= 2);
  CHECK(std::any_of(unknown.begin(), unknown.end(), [](const auto& module) {
    return module.path == program() && module.name.empty();
  }));
  CHECK(call() == parent);
}

TEST_CASE("a slot leads to the handler, is counted, and holds again what it held") {
  OneFunction one;
  one.choose();
  const int parent = call();
  const PltModule hooked = one.walk(PltAction::kHook);
  CHECK(hooked.hooked >= 1);
  CHECK(hooked.has_imports);
  CHECK(hooked.foreign + hooked.refused + hooked.unfinished == 0);
  CHECK(call() == 12345);
  CHECK(one.state.hooked.size() == hooked.hooked);
  CHECK(one.state.previous(one.state.hooked[0].address) != 0);
  CHECK(one.state.previous(one.state.hooked[0].address + 1) == 0);

  SUBCASE("a second walk finds it hooked, and remembers what it held") {
    const std::uintptr_t previous = one.state.hooked[0].previous;
    CHECK(one.walk(PltAction::kHook).hooked == hooked.hooked);
    CHECK(one.state.hooked[0].previous == previous);
  }
  SUBCASE("looking changes nothing") {
    CHECK(one.walk(PltAction::kLook).hooked == hooked.hooked);
    CHECK(call() == 12345);
  }
  static_cast<void>(one.walk(PltAction::kUnhook));
  CHECK(call() == parent);
  CHECK(one.walk(PltAction::kLook).hooked == 0);
}

TEST_CASE("looking before anything is hooked hooks nothing") {
  OneFunction one;
  one.choose();
  CHECK(one.walk(PltAction::kLook).hooked == 0);
  CHECK(call() != 12345);
}

TEST_CASE("a module that is not chosen is left alone") {
  OneFunction one;
  one.choose(false);
  CHECK(one.walk(PltAction::kHook).hooked == 0);
  CHECK(call() != 12345);
}

TEST_CASE("a slot that leads elsewhere is another tool's") {
  // Where calls are bound late, the slot holds the program's own stub until the first of them.
  const int parent = call();
  OneFunction one(reinterpret_cast<std::uintptr_t>(&program));
  one.choose();
  const PltModule module = one.walk(PltAction::kHook);
  CHECK(module.foreign >= 1);
  CHECK(module.hooked == 0);
  CHECK(call() == parent);
}

TEST_CASE("a slot that the loader has not filled yet is a module's that is being opened") {
  const std::uintptr_t original = OneFunction().state.targets.all()[0].original;
  constexpr std::uintptr_t kOffsetInFile = 0x1036;
  OneFunction unfilled(original, kOffsetInFile);
  unfilled.choose();
  REQUIRE(unfilled.walk(PltAction::kHook).hooked >= 1);

  OneFunction one;
  one.choose();
  const PltModule module = one.walk(PltAction::kHook);
  CHECK(module.unfinished >= 1);
  CHECK(module.foreign + module.hooked == 0);
}

TEST_CASE("a function that nobody knows is missing, with the module that wants it") {
  OneFunction one(0);
  one.choose();
  CHECK(one.walk(PltAction::kHook).hooked == 0);
  CHECK(one.missing >= 1);
  CHECK(call() != 12345);
}

TEST_CASE("a module that holds an address to be left alone is not even named") {
  PltState::left_alone[0] = reinterpret_cast<const void*>(&stand_in);
  OneFunction one;
  one.choose();
  CHECK(one.walk(PltAction::kHook).path.empty());
  CHECK(call() != 12345);
  PltState::left_alone = {};
}
