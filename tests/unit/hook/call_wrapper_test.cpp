#include "alloctap/hook/call_wrapper.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <new>
#include <string>

#include "tests/unit/hook/fake_originals.hpp"

namespace {

namespace functions = alloctap::functions;
using namespace alloctap::testing;
using alloctap::AllocationKind;
using alloctap::AllocatorCall;
using alloctap::DeallocationKind;
using Sink = FakeSink<>;

/// As an engine may have it, with a meaning of its own for no block.
struct EngineFree : functions::Deallocates<DeallocationKind::kFree> {
  using Signature = void(void*);
  static alloctap::BlockRequest request() noexcept { return {}; }
};

int block_place;
void* const kBlock = &block_place;

void* call_malloc(std::size_t size) {
  return FakeCallWrapper::allocate<functions::Malloc>(some_origin(), size);
}

void call_free(void* block) { FakeCallWrapper::deallocate<functions::Free>(some_origin(), block); }

int call_posix_memalign(void** result, std::size_t alignment, std::size_t size) {
  return FakeCallWrapper::allocate_into<functions::PosixMemalign>(some_origin(), result, alignment,
                                                                  size);
}

/// Notes the order of what happens: a begin with its bytes, the end of what is timed.
struct TimingFake : FakeSink<> {
  static inline std::string order;
  static inline bool takes_time = true;

  static const alloctap::TimedCall* begin_timing(AllocatorCall call, std::size_t bytes) noexcept {
    order += "begin " + std::to_string(bytes) + ", ";
    static alloctap::TimedCall timed;
    timed.call = call;
    return takes_time ? &timed : nullptr;
  }
  static void end_timing(const alloctap::TimedCall& timed) noexcept {
    order += "end " + std::string(name_of(timed.call)) + ", ";
  }
  static void on_allocate(const alloctap::AllocationEvent&) noexcept { order += "come, "; }
  static void on_deallocate(const alloctap::DeallocationEvent&) noexcept { order += "go, "; }
};

using TimedFake = alloctap::CallWrapper<FakeOriginals, TimingFake>;

/// What happens in `call`, whose original gives a block.
template <class Call>
std::string order_of(Call&& call) {
  forget_calls();
  original_script.block = kBlock;
  original_script.meanwhile = [] { TimingFake::order += "call, "; };
  TimingFake::order.clear();
  call();
  return TimingFake::order;
}

}  // namespace

TEST_CASE("the time of a real call is taken from before it to behind it, and of no other work") {
  const auto timed_malloc = [] { TimedFake::allocate<functions::Malloc>(some_origin(), 100u); };
  CHECK(order_of(timed_malloc) == "begin 100, call, end allocate, come, ");
  CHECK(order_of([] {
          void* result = nullptr;
          TimedFake::allocate_into<functions::PosixMemalign>(some_origin(), &result, 64u, 100u);
        }) == "begin 100, call, end allocate, come, ");
  CHECK(order_of([] { TimedFake::reallocate<functions::Realloc>(some_origin(), kBlock, 200u); }) ==
        "begin 200, call, end reallocate, come, ");
  CHECK(order_of([] { TimedFake::deallocate<functions::Free>(some_origin(), kBlock); }) ==
        "go, begin 0, call, end free, ");
  TimingFake::takes_time = false;
  CHECK(order_of(timed_malloc) == "begin 100, call, come, ");
  TimingFake::takes_time = true;
}

TEST_CASE("the time of calls that are not recorded is not taken") {
  CHECK(order_of([] {
          original_script.recording = false;
          TimedFake::allocate<functions::Malloc>(some_origin(), 100u);
          TimedFake::deallocate<functions::Free>(some_origin(), kBlock);
        }) == "call, call, ");
  CHECK(order_of([] { TimedFake::deallocate<EngineFree>(some_origin(), nullptr); }) == "call, ");
}

TEST_CASE("an allocation is reported after it was made, with all that the call said") {
  forget_calls();
  original_script.block = kBlock;
  CHECK(call_malloc(100) == kBlock);
  CHECK(original_script.arguments == std::vector<std::uintptr_t>{100});
  CHECK(original_script.sink_calls_before == 0);
  REQUIRE(Sink::calls().size() == 1);
  const SinkCall& call = Sink::calls()[0];
  CHECK(call.function == SinkFunction::kAllocate);
  CHECK(call.pointer == kBlock);
  CHECK(call.size == 100);
  CHECK(call.alignment == 0);
  CHECK(call.allocation_kind == AllocationKind::kMalloc);
  CHECK(call.origin.caller == some_origin().caller);
}

TEST_CASE("an aligned operator new reports alignment and kind") {
  forget_calls();
  original_script.block = kBlock;
  CHECK(FakeCallWrapper::allocate<functions::NewArrayAligned>(some_origin(), std::size_t{96},
                                                              std::align_val_t{32}) == kBlock);
  CHECK(original_script.arguments == std::vector<std::uintptr_t>{96, 32});
  REQUIRE(Sink::calls().size() == 1);
  CHECK(Sink::calls()[0].size == 96);
  CHECK(Sink::calls()[0].alignment == 32);
  CHECK(Sink::calls()[0].allocation_kind == AllocationKind::kAlignedNewArray);
}

TEST_CASE("an allocation that fails is not reported, and its error stays") {
  forget_calls();
  original_script.error = ENOMEM;
  errno = 0;
  CHECK(call_malloc(100) == nullptr);
  CHECK(errno == ENOMEM);
  CHECK(Sink::calls().empty());
}

TEST_CASE("an allocation that throws is not reported, and the next one is") {
  forget_calls();
  original_script.meanwhile = [] { throw std::bad_alloc(); };
  const auto call_new = [] {
    return FakeCallWrapper::allocate<functions::New>(some_origin(), std::size_t{100});
  };
  CHECK_THROWS_AS(static_cast<void>(call_new()), std::bad_alloc);
  CHECK(Sink::calls().empty());
  original_script.meanwhile = nullptr;
  original_script.block = kBlock;
  CHECK(call_new() == kBlock);
  CHECK(Sink::calls().size() == 1);
}

TEST_CASE("a block that is stored through a pointer is reported, and only on success") {
  forget_calls();
  original_script.block = kBlock;
  void* result = nullptr;
  CHECK(call_posix_memalign(&result, 64, 100) == 0);
  CHECK(result == kBlock);
  REQUIRE(Sink::calls().size() == 1);
  CHECK(Sink::calls()[0].pointer == kBlock);
  CHECK(Sink::calls()[0].size == 100);
  CHECK(Sink::calls()[0].alignment == 64);
  CHECK(Sink::calls()[0].allocation_kind == AllocationKind::kAlignedAlloc);

  Sink::clear();
  original_script.status = EINVAL;
  CHECK(call_posix_memalign(&result, 3, 100) == EINVAL);
  CHECK(Sink::calls().empty());
}

TEST_CASE("a free is reported before the block is given back") {
  forget_calls();
  call_free(kBlock);
  CHECK(original_script.calls == 1);
  CHECK(original_script.arguments[0] == reinterpret_cast<std::uintptr_t>(kBlock));
  CHECK(original_script.sink_calls_before == 1);
  REQUIRE(Sink::calls().size() == 1);
  const SinkCall& call = Sink::calls()[0];
  CHECK(call.function == SinkFunction::kDeallocate);
  CHECK(call.pointer == kBlock);
  CHECK(call.size == 0);
  CHECK(call.deallocation_kind == DeallocationKind::kFree);
  CHECK(call.origin.caller == some_origin().caller);
}

TEST_CASE("a sized aligned delete reports what it states, and passes it on") {
  forget_calls();
  FakeCallWrapper::deallocate<functions::DeleteSizedAligned>(some_origin(), kBlock, std::size_t{96},
                                                             std::align_val_t{32});
  CHECK(original_script.arguments ==
        std::vector<std::uintptr_t>{reinterpret_cast<std::uintptr_t>(kBlock), 96, 32});
  REQUIRE(Sink::calls().size() == 1);
  CHECK(Sink::calls()[0].size == 96);
  CHECK(Sink::calls()[0].alignment == 32);
  CHECK(Sink::calls()[0].deallocation_kind == DeallocationKind::kAlignedDelete);
}

TEST_CASE(
    "a free of nothing is no call, and passes through unreported where nothing may be meant") {
  forget_calls();
  call_free(nullptr);
  CHECK(original_script.calls == 0);
  FakeCallWrapper::deallocate<EngineFree>(some_origin(), nullptr);
  CHECK(original_script.calls == 1);
  CHECK(Sink::calls().empty());
}

TEST_CASE("the sink's errors do not become the program's") {
  forget_calls();
  original_script.block = kBlock;
  errno = EAGAIN;
  call_malloc(100);
  CHECK(errno == EAGAIN);
  int seen_by_original = 0;
  original_script.meanwhile = [&] { seen_by_original = errno; };
  call_free(kBlock);
  CHECK(errno == EAGAIN);
  CHECK(seen_by_original == EAGAIN);
  void* result = nullptr;
  call_posix_memalign(&result, 64, 100);
  CHECK(errno == EAGAIN);
  CHECK(Sink::calls().size() == 3);
}

TEST_CASE("calls on the way of a call pass through unreported") {
  forget_calls();
  original_script.block = kBlock;
  original_script.meanwhile = [] {
    original_script.meanwhile = nullptr;
    CHECK(call_malloc(1) == kBlock);
    call_free(kBlock);
    void* result = nullptr;
    CHECK(call_posix_memalign(&result, 16, 1) == 0);
    CHECK(Sink::calls().empty());
  };
  CHECK(call_malloc(100) == kBlock);
  CHECK(original_script.calls == 4);
  REQUIRE(Sink::calls().size() == 1);
  CHECK(Sink::calls()[0].size == 100);
}

TEST_CASE("while nothing is recorded calls pass through unreported") {
  forget_calls();
  original_script.recording = false;
  original_script.block = kBlock;
  CHECK(call_malloc(100) == kBlock);
  call_free(kBlock);
  void* result = nullptr;
  CHECK(call_posix_memalign(&result, 16, 1) == 0);
  CHECK(result == kBlock);
  CHECK(original_script.calls == 3);
  CHECK(Sink::calls().empty());
}
