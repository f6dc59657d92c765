#include <doctest/doctest.h>

#include <thread>

#include "alloctap/record/recorder.hpp"
#include "tests/unit/record/recorder_fixture.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

struct TemporaryTest;
struct OtherThreadTest;
struct ReallocationTest;
struct UnknownTest;

}  // namespace

TEST_CASE("a block that is freed as the one allocated last is a temporary one") {
  using P = Program<RecorderConfig<TemporaryTest>>;
  const auto temporary = [] { return P::snapshot().totals.temporary_allocations; };
  ScriptedStack::play(kStack);
  P::allocate(0x1000, 1);
  P::free(0x1000);
  CHECK(temporary() == 1);
  P::allocate(0x1000, 1);
  P::allocate(0x2000, 1);
  P::free(0x1000);
  CHECK(temporary() == 1);
  P::free(0x2000);
  CHECK(temporary() == 2);
  P::allocate(0x1000, 1);
  P::free(0x3000);
  P::free(0x1000);
  CHECK(temporary() == 3);
  P::allocate(0x1000, 1);
  P::reallocate(0x1000, 0x4000, 2);
  CHECK(temporary() == 4);
  P::free(0x4000);
  CHECK(temporary() == 5);
  P::free(0x4000);
  CHECK(temporary() == 5);
}

TEST_CASE("a block that another thread frees is no temporary one") {
  using P = Program<RecorderConfig<OtherThreadTest>>;
  ScriptedStack::play(kStack);
  P::allocate(0x1000, 1);
  std::thread([] { P::free(0x1000); }).join();
  const Snapshot snapshot = P::snapshot();
  CHECK(snapshot.totals.temporary_allocations == 0);
  CHECK(snapshot.totals.deallocations == 1);
}

TEST_CASE("a reallocation is one deallocation and one allocation of the new size") {
  using P = Program<RecorderConfig<ReallocationTest>>;
  ScriptedStack::play(kStack);
  P::allocate(0x1000, 10);
  P::allocate(0x5000, 1);
  P::reallocate(0x1000, 0x2000, 30);
  Totals totals = P::snapshot().totals;
  CHECK(totals.allocations == 3);
  CHECK(totals.deallocations == 1);
  CHECK(totals.allocated_bytes == 41);
  CHECK(totals.live_allocations == 2);
  CHECK(totals.live_bytes == 31);
  CHECK(totals.temporary_allocations == 0);

  P::reallocate(0x2000, 0x2000, 5);
  totals = P::snapshot().totals;
  CHECK(totals.live_bytes == 6);

  P::Record::cancel_reallocate(P::begin_reallocate(0x2000));
  totals = P::snapshot().totals;
  CHECK(totals.deallocations == 2);
  CHECK(totals.live_allocations == 2);
  CHECK(totals.live_bytes == 6);

  P::Record::finish_reallocate(P::begin_reallocate(0x2000));
  CHECK(P::snapshot().totals.live_bytes == 1);
  CHECK(P::snapshot().account.unmatched_frees == 0);
}

TEST_CASE("what is freed or reallocated unknown is counted once, and changes nothing else") {
  using P = Program<RecorderConfig<UnknownTest>>;
  ScriptedStack::play(kStack);
  P::free(0x1000);
  P::Record::cancel_reallocate(P::begin_reallocate(0x2000));
  CHECK(P::snapshot().account.unmatched_frees == 2);
  CHECK(P::snapshot().totals.live_allocations == 0);
  P::reallocate(0x3000, 0x4000, 10);
  const Snapshot snapshot = P::snapshot();
  CHECK(snapshot.account.unmatched_frees == 3);
  CHECK(snapshot.totals.deallocations == 0);
  CHECK(snapshot.totals.live_bytes == 10);
}
