#include <string>

#include "alloctap/hook/malloc_hooks/variable_hooks.hpp"
#include "alloctap/status.hpp"
#include "tests/support/fakes.hpp"
#include "tests/unit/hook/malloc_hooks/fake_hook_variables.hpp"

namespace {

using namespace alloctap::testing;
using alloctap::HookFeed;
using Variables = FakeHookVariables;

struct FakeBionic {
  static alloctap::os::MallocHookVariables variables() noexcept {
    return is_present ? Variables::all() : alloctap::os::MallocHookVariables{};
  }
  static inline bool is_present = true;
};

using Hooks = alloctap::BionicHooks<FakeBionic>;
struct Tag;
using Sink = FakeSink<Tag>;

alloctap::os::FreeHook* behind_another = nullptr;
void free_by_another(void* block, const void* caller) { behind_another(block, caller); }

}  // namespace

TEST_CASE("elsewhere than on Android there are no variables") {
  FakeBionic::is_present = false;
  CHECK((Hooks::install()).code() == alloctap::StatusCode::kNotFound);
  FakeBionic::is_present = true;
  CHECK((alloctap::BionicHooks<>::install()).code() == alloctap::StatusCode::kNotFound);
}

TEST_CASE("variables that hold nothing are not called, and how to make them be is said") {
  Variables::reset(false);
  const alloctap::Status status = Hooks::install();
  CHECK(status.code() == alloctap::StatusCode::kFailedPrecondition);
  CHECK(std::string(status.message()).find("LIBC_HOOKS_ENABLE") != std::string::npos);
  CHECK(Variables::empty());
}

TEST_CASE("what the variables held is called, each call once, and put back") {
  Variables::reset(true);
  REQUIRE(Hooks::install().ok());
  HookFeed::connect<Sink>();
  Sink::clear();
  Variables::call_all();
  HookFeed::disconnect();
  CHECK(Variables::calls == 4);
  REQUIRE(Sink::count() == 6);
  CHECK(Sink::calls()[0].size == 100);
  CHECK(Sink::calls()[1].size == 300);
  CHECK(Sink::calls()[1].alignment == 64);
  CHECK(Sink::calls()[2].function == SinkFunction::kBeginReallocate);
  CHECK(Sink::calls()[3].function == SinkFunction::kFinishReallocate);
  CHECK(Sink::calls()[4].size == 200);
  CHECK(Sink::calls()[5].function == SinkFunction::kDeallocate);
  Hooks::uninstall();
  CHECK((Variables::malloc_hook == &Variables::hooked_malloc));
  CHECK((Variables::realloc_hook == &Variables::hooked_realloc));
  CHECK((Variables::free_hook == &Variables::hooked_free));
  CHECK((Variables::memalign_hook == &Variables::hooked_memalign));
}

TEST_CASE(
    "case 16, aliases: a hook that another set over ours is left, in either order of leaving") {
  Variables::reset(true);
  REQUIRE(Hooks::install().ok());
  behind_another = Variables::free_hook;
  Variables::free_hook = &free_by_another;
  Hooks::uninstall();
  CHECK((Variables::free_hook == &free_by_another));
  CHECK((Variables::malloc_hook == &Variables::hooked_malloc));
  // Ours is still called by the other's: it must not be set in front of it.
  REQUIRE(Hooks::install().ok());
  CHECK((Variables::free_hook == &free_by_another));
  HookFeed::connect<Sink>();
  Sink::clear();
  Variables::free_hook(&old_place, nullptr);
  CHECK(Variables::calls == 1);
  // The other variables are hooked again: a session without their calls would report false leaks.
  const int before = Variables::calls;
  void* const block = Variables::malloc_hook(100, nullptr);
  HookFeed::disconnect();
  CHECK(block != nullptr);
  CHECK(Variables::calls == before + 1);
  CHECK(Sink::count() == 2);
  Hooks::uninstall();
  CHECK((Variables::malloc_hook == &Variables::hooked_malloc));
}

TEST_CASE("hooks that were put back twice can be set again") {
  Variables::reset(true);
  REQUIRE(Hooks::install().ok());
  Hooks::uninstall();
  Hooks::uninstall();
  REQUIRE(Hooks::install().ok());
  CHECK((Variables::malloc_hook != &Variables::hooked_malloc));
  Hooks::uninstall();
}
