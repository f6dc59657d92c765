// Backend case 24: variables are accepted only in libc_malloc_debug.
#include <string>
#include <string_view>

#include "alloctap/hook/malloc_hooks/variable_hooks.hpp"
#include "alloctap/status.hpp"
#include "tests/support/fakes.hpp"
#include "tests/unit/hook/malloc_hooks/fake_hook_variables.hpp"

namespace {

using namespace alloctap::testing;
using alloctap::HookFeed;
using Variables = FakeHookVariables;

std::size_t rounded_size(void*) { return 40; }
std::size_t exact_size(void*) { return 25; }

/// A glibc whose variables lie where the test wants them.
struct FakeGlibc {
  static void* symbol(std::string_view name) noexcept {
    if (name == "__malloc_hook") return has_variables ? &Variables::malloc_hook : nullptr;
    if (name == "__realloc_hook") return &Variables::realloc_hook;
    if (name == "__free_hook") return &Variables::free_hook;
    if (name == "__memalign_hook") return &Variables::memalign_hook;
    if (name == "__libc_malloc") return address_of(&Variables::plain_malloc);
    if (name == "__libc_realloc") return address_of(&Variables::plain_realloc);
    if (name == "__libc_free") return has_free ? address_of(&Variables::plain_free) : nullptr;
    if (name == "__libc_memalign") return address_of(&Variables::plain_memalign);
    if (name == "malloc") return address_of(&Variables::plain_malloc);
    if (name == "free") return address_of(&Variables::plain_free);
    CHECK(name == "malloc_usable_size");
    return address_of(checks_blocks ? &exact_size : &rounded_size);
  }
  static std::string_view file_of(const void*) noexcept { return file; }

  static void reset() {
    Variables::reset(false);
    has_variables = has_free = true;
    checks_blocks = false;
    file = "/lib/libc_malloc_debug.so.0";
  }

  template <class Function>
  static void* address_of(Function* function) noexcept {
    return reinterpret_cast<void*>(function);
  }

  static inline bool has_variables = true;
  static inline bool has_free = true;
  static inline bool checks_blocks = false;
  static inline std::string_view file;
};

using Hooks = alloctap::GlibcDebugHooks<FakeGlibc>;
struct Tag;
using Sink = FakeSink<Tag>;

void refused_with(std::string_view text) {
  const alloctap::Status status = Hooks::install();
  CHECK_FALSE(status.ok());
  CHECK(std::string(status.message()).find(text) != std::string::npos);
}

}  // namespace

TEST_CASE("case 24, native: variables of libc.so itself do nothing and are refused") {
  FakeGlibc::reset();
  FakeGlibc::file = "/lib/libc.so.6";
  refused_with("/lib/libc.so.6, where it does nothing");
  refused_with("LD_PRELOAD=libc_malloc_debug.so.0");
  CHECK(Variables::empty());
}

TEST_CASE("case 24, native: this process has glibc's variables in libc.so alone") {
  CHECK_FALSE(alloctap::GlibcDebugHooks<>::install().ok());
}

TEST_CASE("a C library without the variables, or without originals, is refused") {
  FakeGlibc::reset();
  FakeGlibc::has_variables = false;
  refused_with("no __malloc_hook");
  FakeGlibc::reset();
  FakeGlibc::has_free = false;
  refused_with("__libc_free");
  CHECK(Variables::empty());
}

TEST_CASE("variables that another library uses are refused, and so are checked blocks") {
  FakeGlibc::reset();
  Variables::free_hook = &Variables::hooked_free;
  refused_with("in use by another library");
  CHECK((Variables::free_hook == &Variables::hooked_free));
  FakeGlibc::reset();
  FakeGlibc::checks_blocks = true;
  refused_with("MALLOC_CHECK_");
  CHECK(Variables::empty());
}

TEST_CASE("a call is told once and carried out once by the original, and hooks can be taken back") {
  FakeGlibc::reset();
  REQUIRE(Hooks::install().ok());
  HookFeed::connect<Sink>();
  Sink::clear();
  Variables::calls = 0;
  Variables::call_all();
  CHECK(Variables::calls == 4);
  CHECK(Sink::count() == 6);
  CHECK(Sink::calls()[0].pointer == &new_place);
  CHECK(Sink::calls()[0].origin.allocator == &alloctap::hooked_allocator_frames);
  HookFeed::disconnect();
  Variables::call_all();
  CHECK(Variables::calls == 8);
  CHECK(Sink::count() == 6);
  Hooks::uninstall();
  CHECK(Variables::empty());
}

TEST_CASE(
    "case 22, semantics: a reallocation that fails is cancelled, one to nothing is finished") {
  FakeGlibc::reset();
  REQUIRE(Hooks::install().ok());
  HookFeed::connect<Sink>();
  Variables::result = nullptr;
  Sink::clear();
  CHECK(Variables::realloc_hook(&old_place, 200, nullptr) == nullptr);
  REQUIRE(Sink::count() == 2);
  CHECK(Sink::calls()[1].function == SinkFunction::kCancelReallocate);
  Sink::clear();
  CHECK(Variables::realloc_hook(&old_place, 0, nullptr) == nullptr);
  REQUIRE(Sink::count() == 2);
  CHECK(Sink::calls()[1].function == SinkFunction::kFinishReallocate);
  HookFeed::disconnect();
  Hooks::uninstall();
}
