// Backend case 24: the runtime is absent, has no place left, is installed once.
#include "alloctap/hook/malloc_hooks/sanitizer_hooks.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <string>

#include "alloctap/status.hpp"
#include "tests/support/fakes.hpp"

namespace {

using namespace alloctap::testing;
using alloctap::AllocationEvent;
using alloctap::HookFeed;
using alloctap::ReentrancyGuard;

/// A runtime with `places` left. `Tag`: installing is for ever, so each test has one of its own.
template <class Tag>
struct FakeRuntime {
  static bool present() noexcept { return is_present; }
  static int install(void (*allocated)(const volatile void*, std::size_t),
                     void (*freeing)(const volatile void*)) noexcept {
    ++installs;
    if (places == 0) return 0;
    on_allocated = allocated;
    on_freeing = freeing;
    return places--;
  }
  static bool is_silent_after_fork() noexcept { return is_silent; }
  static std::size_t size_of(const volatile void*) noexcept { return 77; }

  static inline bool is_present = true;
  static inline bool is_silent = false;
  static inline int places = 1;
  static inline int installs = 0;
  static inline void (*on_allocated)(const volatile void*, std::size_t) = nullptr;
  static inline void (*on_freeing)(const volatile void*) = nullptr;
};

struct Tag;
using Sink = FakeSink<Tag>;

struct Connected {
  Connected() {
    Sink::clear();
    HookFeed::connect<Sink>();
  }
  ~Connected() { HookFeed::disconnect(); }
};

int place;

}  // namespace

TEST_CASE(
    "case 24, native: without a sanitizer's runtime the weak symbol is null, and that is said") {
  struct Absent;
  FakeRuntime<Absent>::is_present = false;
  const alloctap::Status status = alloctap::SanitizerHooks<FakeRuntime<Absent>>::install();
  CHECK(status.code() == alloctap::StatusCode::kNotFound);
  CHECK(std::string(status.message()).find("-fsanitize=address") != std::string::npos);
  CHECK(FakeRuntime<Absent>::installs == 0);
}

TEST_CASE("case 24, native: five pairs of hooks are taken") {
  struct Full;
  FakeRuntime<Full>::places = 0;
  const alloctap::Status status = alloctap::SanitizerHooks<FakeRuntime<Full>>::install();
  CHECK(status.code() == alloctap::StatusCode::kResourceExhausted);
  CHECK(std::string(status.message()).find("five") != std::string::npos);
}

TEST_CASE("what a runtime tells reaches the sink, with the size that it knows at a free") {
  struct Telling;
  using Runtime = FakeRuntime<Telling>;
  REQUIRE(alloctap::SanitizerHooks<Runtime>::install().ok());
  const Connected connected;
  errno = ERANGE;
  Runtime::on_allocated(&place, 100);
  Runtime::on_freeing(&place);
  CHECK(errno == ERANGE);
  REQUIRE(Sink::count() == 2);
  CHECK(Sink::calls()[0].function == SinkFunction::kAllocate);
  CHECK(Sink::calls()[0].pointer == &place);
  CHECK(Sink::calls()[0].size == 100);
  CHECK(Sink::calls()[0].origin.allocator == &alloctap::hooked_allocator_frames);
  CHECK(Sink::calls()[0].origin.frame != nullptr);
  CHECK(Sink::calls()[1].function == SinkFunction::kDeallocate);
  CHECK(Sink::calls()[1].pointer == &place);
  CHECK(Sink::calls()[1].size == 77);
}

TEST_CASE("no block, no sink, or a call inside a hook: nothing is told") {
  struct Silent;
  using Runtime = FakeRuntime<Silent>;
  REQUIRE(alloctap::SanitizerHooks<Runtime>::install().ok());
  {
    const Connected connected;
    Runtime::on_allocated(nullptr, 100);
    Runtime::on_freeing(nullptr);
    const ReentrancyGuard inside;
    Runtime::on_allocated(&place, 100);
    Runtime::on_freeing(&place);
  }
  Runtime::on_allocated(&place, 100);
  Runtime::on_freeing(&place);
  CHECK(Sink::count() == 0);
}

TEST_CASE("a runtime gives no place back, so one is taken per process") {
  struct Again;
  using Hooks = alloctap::SanitizerHooks<FakeRuntime<Again>>;
  REQUIRE(Hooks::install().ok());
  Hooks::uninstall();
  CHECK(Hooks::install().ok());
  CHECK(FakeRuntime<Again>::installs == 1);
}

TEST_CASE("a runtime that looks away after fork has that said of it") {
  struct Forking;
  using Hooks = alloctap::SanitizerHooks<FakeRuntime<Forking>>;
  CHECK(Hooks::also_unseen().empty());
  FakeRuntime<Forking>::is_silent = true;
  CHECK(Hooks::also_unseen() == "children that were forked while there were threads");
}
