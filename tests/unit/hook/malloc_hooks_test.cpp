#include "alloctap/hook/malloc_hooks.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include "alloctap/status.hpp"
#include "tests/support/fakes.hpp"

namespace {

using namespace alloctap::testing;
using alloctap::AllocationEvent;
using alloctap::DeallocationEvent;
using alloctap::HookFeed;
using alloctap::MallocHooksOf;

struct Tag;
using Sink = FakeSink<Tag>;

/// A provider that is not there.
struct Absent {
  static constexpr std::string_view name = "absent";
  static alloctap::Status install() {
    return alloctap::Status::not_found("no symbol; link the library");
  }
  static void uninstall() noexcept { FAIL("was never installed"); }
};

/// Hooks that can be set and are never called.
struct Deaf {
  static constexpr std::string_view name = "deaf";
  static alloctap::Status install() {
    ++installed;
    return alloctap::Status();
  }
  static void uninstall() noexcept { --installed; }
  static inline int installed = 0;
};

bool contains(const alloctap::Status& status, std::string_view text) {
  return std::string(status.message()).find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("case 24, native: where nothing is offered, everything that was looked for is named") {
  using Hooks = MallocHooksOf<Absent, alloctap::BionicHooks<>, alloctap::GlibcDebugHooks<>>;
  const alloctap::Status status = Hooks::install<Sink>();
  CHECK(status.code() == alloctap::StatusCode::kFailedPrecondition);
  CHECK(contains(status, "Looked for: absent: no symbol; link the library; bionic: "));
  CHECK(contains(status, "; glibc-debug: "));
  CHECK(Hooks::active_name() == "malloc-hooks");
  CHECK(Hooks::active_capabilities().misses_allocations);
  CHECK_FALSE(HookFeed::connected());
}

TEST_CASE("hooks that a call of malloc does not reach are taken back, and the next is tried") {
  using Hooks = MallocHooksOf<Deaf, Absent>;
  const alloctap::Status status = Hooks::install<Sink>();
  CHECK(status.code() == alloctap::StatusCode::kFailedPrecondition);
  CHECK(contains(status, "deaf: its hooks were set, but a call of malloc did not reach them"));
  CHECK(contains(status, "absent: "));
  CHECK(Deaf::installed == 0);
  CHECK_FALSE(HookFeed::connected());
}

TEST_CASE("a feed hands on to the sink that is connected") {
  HookFeed::on_allocate(AllocationEvent{});
  Sink::clear();
  HookFeed::connect<Sink>();
  HookFeed::on_allocate(AllocationEvent{});
  HookFeed::on_deallocate(DeallocationEvent{});
  HookFeed::finish_reallocate(HookFeed::begin_reallocate(DeallocationEvent{}));
  HookFeed::cancel_reallocate({});
  HookFeed::on_modules_unloading();
  HookFeed::on_modules_unloaded();
  HookFeed::disconnect();
  HookFeed::on_allocate(AllocationEvent{});
  CHECK_FALSE(HookFeed::begin_reallocate(DeallocationEvent{}).known);
  CHECK(Sink::count() == 7);
}
