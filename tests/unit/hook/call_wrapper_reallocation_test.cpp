#include <doctest/doctest.h>

#include <cerrno>
#include <vector>

#include "alloctap/hook/call_wrapper.hpp"
#include "tests/unit/hook/fake_originals.hpp"

namespace {

namespace functions = alloctap::functions;
using namespace alloctap::testing;
using alloctap::DeallocationKind;
using Sink = FakeSink<>;

int old_place;
int new_place;
void* const kOld = &old_place;
void* const kNew = &new_place;

void* call_realloc(void* old, std::size_t size) {
  return FakeCallWrapper::reallocate<functions::Realloc>(some_origin(), old, size);
}

void* call_reallocarray(void* old, std::size_t count, std::size_t size) {
  return FakeCallWrapper::reallocate<functions::Reallocarray>(some_origin(), old, count, size);
}

std::vector<SinkFunction> told() {
  std::vector<SinkFunction> functions;
  for (const SinkCall& call : Sink::calls()) functions.push_back(call.function);
  return functions;
}

const std::vector<SinkFunction> kMoved{SinkFunction::kBeginReallocate,
                                       SinkFunction::kFinishReallocate, SinkFunction::kAllocate};
const std::vector<SinkFunction> kKept{SinkFunction::kBeginReallocate,
                                      SinkFunction::kCancelReallocate};
const std::vector<SinkFunction> kFreed{SinkFunction::kBeginReallocate,
                                       SinkFunction::kFinishReallocate};

}  // namespace

TEST_CASE("a reallocation takes the old block out before, and reports the new one after") {
  forget_calls();
  original_script.block = kNew;
  CHECK(call_realloc(kOld, 200) == kNew);
  CHECK(original_script.arguments ==
        std::vector<std::uintptr_t>{reinterpret_cast<std::uintptr_t>(kOld), 200});
  CHECK(original_script.sink_calls_before == 1);
  REQUIRE(told() == kMoved);
  CHECK(Sink::calls()[0].pointer == kOld);
  CHECK(Sink::calls()[0].deallocation_kind == DeallocationKind::kRealloc);
  CHECK(Sink::calls()[0].origin.caller == some_origin().caller);
  CHECK(Sink::calls()[1].pointer == kOld);
  CHECK(Sink::calls()[2].pointer == kNew);
  CHECK(Sink::calls()[2].size == 200);
}

TEST_CASE("a reallocation in place is reported like one that moves") {
  forget_calls();
  original_script.block = kOld;
  CHECK(call_realloc(kOld, 50) == kOld);
  CHECK(told() == kMoved);
}

TEST_CASE("a reallocation that fails puts the old block back and keeps its error") {
  forget_calls();
  original_script.error = ENOMEM;
  CHECK(call_realloc(kOld, 200) == nullptr);
  CHECK(errno == ENOMEM);
  REQUIRE(told() == kKept);
  CHECK(Sink::calls()[1].pointer == kOld);
}

TEST_CASE("a reallocation to nothing frees the old block") {
  forget_calls();
  CHECK(call_realloc(kOld, 0) == nullptr);
  CHECK(told() == kFreed);
}

TEST_CASE("a reallocation to nothing may give a block, as some allocators do") {
  forget_calls();
  original_script.block = kNew;
  CHECK(call_realloc(kOld, 0) == kNew);
  REQUIRE(told() == kMoved);
  CHECK(Sink::calls()[2].size == 0);
}

TEST_CASE("a reallocation of nothing is an allocation") {
  forget_calls();
  original_script.block = kNew;
  CHECK(call_realloc(nullptr, 10) == kNew);
  CHECK(original_script.sink_calls_before == 0);
  REQUIRE_FALSE(Sink::calls().empty());
  CHECK(Sink::calls().back().function == SinkFunction::kAllocate);
  for (const SinkCall& call : Sink::calls()) CHECK(call.pointer != kOld);
}

TEST_CASE("an array is reallocated by the product of its numbers") {
  forget_calls();
  original_script.block = kNew;
  CHECK(call_reallocarray(kOld, 5, 40) == kNew);
  REQUIRE(told() == kMoved);
  CHECK(Sink::calls()[2].size == 200);
}

TEST_CASE("an array whose size overflows stays, even where the product is 0") {
  constexpr std::size_t kHuge = SIZE_MAX / 2 + 1;
  for (const std::size_t count : {std::size_t{2}, std::size_t{3}, kHuge}) {
    forget_calls();
    original_script.error = ENOMEM;
    CHECK(call_reallocarray(kOld, count, kHuge) == nullptr);
    CHECK(told() == kKept);
  }
}

TEST_CASE("an array that is reallocated to no elements is freed") {
  forget_calls();
  CHECK(call_reallocarray(kOld, 0, 40) == nullptr);
  CHECK(told() == kFreed);
  forget_calls();
  CHECK(call_reallocarray(kOld, 40, 0) == nullptr);
  CHECK(told() == kFreed);
}

TEST_CASE("a reallocation leaves errno to the original") {
  forget_calls();
  original_script.block = kNew;
  errno = EAGAIN;
  call_realloc(kOld, 200);
  CHECK(errno == EAGAIN);
  original_script.meanwhile = [] { CHECK(errno == EAGAIN); };
  call_realloc(kOld, 200);
}

TEST_CASE("a reallocation inside a call, or while nothing is recorded, passes through") {
  forget_calls();
  original_script.block = kNew;
  original_script.recording = false;
  CHECK(call_realloc(kOld, 200) == kNew);
  CHECK(original_script.calls == 1);
  CHECK(Sink::calls().empty());

  original_script.recording = true;
  original_script.meanwhile = [] {
    original_script.meanwhile = nullptr;
    CHECK(call_realloc(kOld, 1) == kNew);
  };
  FakeCallWrapper::allocate<functions::Malloc>(some_origin(), std::size_t{100});
  CHECK(told() == std::vector<SinkFunction>{SinkFunction::kAllocate});
}
