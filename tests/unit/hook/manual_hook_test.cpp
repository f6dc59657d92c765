#include "alloctap/hook/manual_hook.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <string>
#include <vector>

#include "alloctap/status.hpp"
#include "tests/support/fakes.hpp"

namespace {

using namespace alloctap::testing;
using alloctap::AllocationKind;
using alloctap::DeallocationKind;
using alloctap::DetachedBlock;
using alloctap::ReentrancyGuard;

struct Domain;
using Hook = alloctap::ManualHook<Domain>;
using Sink = FakeSink<Domain>;

struct OtherDomain;
using OtherHook = alloctap::ManualHook<OtherDomain>;
using OtherSink = FakeSink<OtherDomain>;

int block_place;
int other_place;
void* const kBlock = &block_place;
void* const kOther = &other_place;

/// Feeds the sink for the time of a test.
struct Installed {
  Installed() {
    Sink::clear();
    REQUIRE(Hook::install<Sink>().ok());
  }
  ~Installed() { Hook::uninstall(); }
};

std::vector<SinkFunction> told() {
  std::vector<SinkFunction> functions;
  for (const SinkCall& call : Sink::calls()) functions.push_back(call.function);
  return functions;
}

void call_everything() {
  Hook::on_allocate(kBlock, 100);
  Hook::on_free(kBlock);
  Hook::end_reallocate(Hook::begin_reallocate(kBlock), kOther, 200);
  Hook::on_map(kBlock, 4096);
  Hook::on_unmap(kBlock, 4096);
}

ALLOCTAP_NOINLINE void allocate_here() {
  Hook::on_allocate(kBlock, 1);
  __asm__ volatile("" ::: "memory");
}

/// Looks at the guard instead of the event.
struct GuardSink : alloctap::EventSinkArchetype {
  static void on_allocate(const alloctap::AllocationEvent&) noexcept {
    const ReentrancyGuard guard;
    outermost = guard.is_outermost();
  }
  static inline bool outermost = true;
};

}  // namespace

TEST_CASE("what the program says is what the sink is told") {
  const Installed installed;
  Hook::on_allocate(kBlock, 100, 64);
  Hook::on_free(kBlock);
  REQUIRE(told() == std::vector<SinkFunction>{SinkFunction::kAllocate, SinkFunction::kDeallocate});
  const SinkCall& allocation = Sink::calls()[0];
  CHECK(allocation.pointer == kBlock);
  CHECK(allocation.size == 100);
  CHECK(allocation.alignment == 64);
  CHECK(allocation.allocation_kind == AllocationKind::kCustom);
  CHECK(Sink::calls()[1].pointer == kBlock);
  CHECK(Sink::calls()[1].deallocation_kind == DeallocationKind::kCustom);
}

TEST_CASE("the origin of an event is the place that told of it") {
  const Installed installed;
  for (int i = 0; i < 2; ++i) allocate_here();
  Hook::on_allocate(kBlock, 1);
  const auto calls = Sink::calls();
  REQUIRE(calls.size() == 3);
  CHECK(calls[0].origin.caller == calls[1].origin.caller);
  CHECK(calls[2].origin.caller != calls[0].origin.caller);
  for (const SinkCall& call : calls) CHECK(call.origin.frame != nullptr);
}

TEST_CASE("a reallocation is finished and an allocation when it gave a block") {
  const Installed installed;
  const DetachedBlock old = Hook::begin_reallocate(kBlock);
  CHECK(old.pointer == kBlock);
  Hook::end_reallocate(old, kOther, 200, 32);
  REQUIRE(told() == std::vector<SinkFunction>{SinkFunction::kBeginReallocate,
                                              SinkFunction::kFinishReallocate,
                                              SinkFunction::kAllocate});
  CHECK(Sink::calls()[1].pointer == kBlock);
  CHECK(Sink::calls()[2].pointer == kOther);
  CHECK(Sink::calls()[2].size == 200);
  CHECK(Sink::calls()[2].alignment == 32);
}

TEST_CASE("a reallocation is cancelled when it gave none") {
  const Installed installed;
  Hook::end_reallocate(Hook::begin_reallocate(kBlock), nullptr, 200);
  CHECK(told() ==
        std::vector<SinkFunction>{SinkFunction::kBeginReallocate, SinkFunction::kCancelReallocate});
}

TEST_CASE("mappings come, and go for good") {
  const Installed installed;
  Hook::on_map(kBlock, 8192);
  Hook::on_unmap(kBlock, 4096);
  REQUIRE(told() == std::vector<SinkFunction>{SinkFunction::kMap, SinkFunction::kBeginUnmap,
                                              SinkFunction::kFinishUnmap});
  CHECK(Sink::calls()[0].size == 8192);
  CHECK(Sink::calls()[1].size == 4096);
}

TEST_CASE("no block is no event") {
  const Installed installed;
  Hook::on_allocate(nullptr, 100);
  Hook::on_free(nullptr);
  CHECK_FALSE(Hook::begin_reallocate(nullptr).known);
  CHECK(told().empty());
}

TEST_CASE("before and after a sink is installed nothing happens") {
  Sink::clear();
  call_everything();
  CHECK(Hook::install<Sink>().ok());
  Hook::uninstall();
  call_everything();
  Hook::uninstall();
  CHECK(told().empty());
}

TEST_CASE("a domain feeds one sink, and says how to feed two") {
  const Installed installed;
  const alloctap::Status status = Hook::install<OtherSink>();
  CHECK(status.code() == alloctap::StatusCode::kFailedPrecondition);
  const std::string message(status.message());
  CHECK(message.find("ManualHook: this domain feeds another tracker") != message.npos);
  CHECK(message.find("give each tracker a domain type") != message.npos);
}

TEST_CASE("domains are fed apart") {
  const Installed installed;
  OtherSink::clear();
  REQUIRE(OtherHook::install<OtherSink>().ok());
  Hook::on_allocate(kBlock, 100);
  OtherHook::on_free(kOther);
  OtherHook::uninstall();
  Hook::on_free(kBlock);
  CHECK(Sink::calls().size() == 2);
  REQUIRE(OtherSink::calls().size() == 1);
  CHECK(OtherSink::calls()[0].pointer == kOther);
}

TEST_CASE("telling leaves errno alone") {
  const Installed installed;
  errno = EAGAIN;
  call_everything();
  CHECK(errno == EAGAIN);
  CHECK(Sink::calls().size() == 8);
}

TEST_CASE("the sink runs guarded, also where the program tells from inside malloc") {
  REQUIRE(OtherHook::install<GuardSink>().ok());
  GuardSink::outermost = true;
  OtherHook::on_allocate(kBlock, 100);
  CHECK_FALSE(GuardSink::outermost);

  const ReentrancyGuard as_in_malloc;
  GuardSink::outermost = true;
  OtherHook::on_allocate(kBlock, 100);
  CHECK_FALSE(GuardSink::outermost);
  OtherHook::uninstall();
}
