#include <doctest/doctest.h>
#include <sys/mman.h>

#include <cerrno>
#include <vector>

#include "alloctap/hook/call_wrapper.hpp"
#include "tests/unit/hook/fake_originals.hpp"

namespace {

namespace functions = alloctap::functions;
using namespace alloctap::testing;
using Sink = FakeSink<>;

void* const kOld = reinterpret_cast<void*>(0x10000);
void* const kNew = reinterpret_cast<void*>(0x80000);

void* call_mmap(std::size_t length) {
  return FakeCallWrapper::map<functions::Mmap>(some_origin(), kOld, length, PROT_READ, MAP_PRIVATE,
                                               5, 0x2000);
}

int call_munmap(void* address, std::size_t length) {
  return FakeCallWrapper::unmap<functions::Munmap>(some_origin(), address, length);
}

void* call_mremap(std::size_t old_length, std::size_t length, int flags) {
  return FakeCallWrapper::remap<functions::Mremap>(some_origin(), kOld, old_length, length, flags,
                                                   kNew);
}

struct Told {
  SinkFunction function;
  void* pointer;
  std::size_t size;
  bool operator==(const Told&) const = default;
};

std::vector<Told> told() {
  std::vector<Told> all;
  for (const SinkCall& call : Sink::calls())
    all.push_back({call.function, call.pointer, call.size});
  return all;
}

}  // namespace

TEST_CASE("a mapping is reported where it came to lie, after it was made") {
  forget_calls();
  original_script.block = kNew;
  CHECK(call_mmap(0x3000) == kNew);
  CHECK(original_script.arguments ==
        std::vector<std::uintptr_t>{0x10000, 0x3000, PROT_READ, MAP_PRIVATE, 5, 0x2000});
  CHECK(original_script.sink_calls_before == 0);
  CHECK(told() == std::vector<Told>{{SinkFunction::kMap, kNew, 0x3000}});
  CHECK(Sink::calls()[0].origin.caller == some_origin().caller);
}

TEST_CASE("a mapping that fails is not reported") {
  forget_calls();
  original_script.block = MAP_FAILED;
  original_script.error = ENOMEM;
  CHECK(call_mmap(0x3000) == MAP_FAILED);
  CHECK(errno == ENOMEM);
  CHECK(told().empty());
}

TEST_CASE("an unmapping begins before the call and is finished after it") {
  forget_calls();
  CHECK(call_munmap(kOld, 0x3000) == 0);
  CHECK(original_script.sink_calls_before == 1);
  CHECK(told() == std::vector<Told>{{SinkFunction::kBeginUnmap, kOld, 0x3000},
                                    {SinkFunction::kFinishUnmap, kOld, 0}});
}

TEST_CASE("an unmapping that fails is cancelled, and its error stays") {
  forget_calls();
  original_script.status = -1;
  original_script.error = EINVAL;
  CHECK(call_munmap(kOld, 0x3000) == -1);
  CHECK(errno == EINVAL);
  CHECK(told() == std::vector<Told>{{SinkFunction::kBeginUnmap, kOld, 0x3000},
                                    {SinkFunction::kCancelUnmap, kOld, 0}});
}

TEST_CASE("a remapping is an unmapping of the old range and a mapping of the new one") {
  forget_calls();
  original_script.block = kNew;
  CHECK(call_mremap(0x1000, 0x4000, MREMAP_MAYMOVE) == kNew);
  CHECK(original_script.arguments ==
        std::vector<std::uintptr_t>{0x10000, 0x1000, 0x4000, MREMAP_MAYMOVE, 0x80000});
  CHECK(original_script.sink_calls_before == 1);
  CHECK(told() == std::vector<Told>{{SinkFunction::kBeginUnmap, kOld, 0x1000},
                                    {SinkFunction::kFinishUnmap, kOld, 0},
                                    {SinkFunction::kMap, kNew, 0x4000}});
}

TEST_CASE("a remapping that fails changes nothing") {
  forget_calls();
  original_script.block = MAP_FAILED;
  original_script.error = EFAULT;
  CHECK(call_mremap(0x1000, 0x4000, MREMAP_MAYMOVE) == MAP_FAILED);
  CHECK(errno == EFAULT);
  CHECK(told() == std::vector<Told>{{SinkFunction::kBeginUnmap, kOld, 0x1000},
                                    {SinkFunction::kCancelUnmap, kOld, 0}});
}

TEST_CASE("a remapping that leaves the old range adds the new one") {
  const std::vector<Told> added{{SinkFunction::kMap, kNew, 0x4000}};
  forget_calls();
  original_script.block = kNew;
  CHECK(call_mremap(0, 0x4000, MREMAP_MAYMOVE) == kNew);
  CHECK(told() == added);
  forget_calls();
  original_script.block = kNew;
  CHECK(call_mremap(0x4000, 0x4000, MREMAP_MAYMOVE | MREMAP_DONTUNMAP) == kNew);
  CHECK(told() == added);
  forget_calls();
  original_script.block = MAP_FAILED;
  CHECK(call_mremap(0, 0x4000, MREMAP_MAYMOVE) == MAP_FAILED);
  CHECK(told().empty());
}

TEST_CASE("mapping calls leave errno to the original") {
  forget_calls();
  original_script.block = kNew;
  errno = EAGAIN;
  call_mmap(0x1000);
  CHECK(errno == EAGAIN);
  call_munmap(kOld, 0x1000);
  CHECK(errno == EAGAIN);
  call_mremap(0x1000, 0x4000, 0);
  CHECK(errno == EAGAIN);
}

TEST_CASE("mapping calls inside a call, or while nothing is recorded, pass through") {
  const auto call_all = [] {
    CHECK(call_mmap(0x1000) == kNew);
    CHECK(call_munmap(kOld, 0x1000) == 0);
    CHECK(call_mremap(0x1000, 0x4000, 0) == kNew);
  };
  forget_calls();
  original_script.block = kNew;
  original_script.recording = false;
  call_all();
  CHECK(original_script.calls == 3);
  CHECK(told().empty());

  original_script.recording = true;
  original_script.meanwhile = [&] {
    original_script.meanwhile = nullptr;
    call_all();
  };
  FakeCallWrapper::deallocate<functions::Free>(some_origin(), kOld);
  CHECK(told() == std::vector<Told>{{SinkFunction::kDeallocate, kOld, 0}});
}
