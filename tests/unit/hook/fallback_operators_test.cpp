#include <doctest/doctest.h>

#include <new>
#include <vector>

#include "alloctap/hook/interposed_originals.hpp"

namespace {

namespace functions = alloctap::functions;
using alloctap::FallbackOperator;

int block_place;
void* const kBlock = &block_place;

struct Request {
  std::size_t size;
  std::size_t alignment;
  bool operator==(const Request&) const = default;
};

/// An allocator that fails so many times first.
int failures_left = 0;
std::vector<Request> requests;
std::vector<void*> freed;

void* allocate(std::size_t alignment, std::size_t size) {
  requests.push_back({size, alignment});
  return failures_left-- > 0 ? nullptr : kBlock;
}

struct Originals {
  template <class Function>
  static typename Function::Signature* get();
};
template <>
void* (*Originals::get<functions::Malloc>())(std::size_t) {
  return [](std::size_t size) { return allocate(0, size); };
}
template <>
void* (*Originals::get<functions::Memalign>())(std::size_t, std::size_t) {
  return &allocate;
}
template <>
void (*Originals::get<functions::Free>())(void*) {
  return [](void* block) { freed.push_back(block); };
}

template <class Function, class... Arguments>
auto call(Arguments... arguments) {
  return FallbackOperator<Function, Originals>::call(arguments...);
}

/// A failing allocator, and a handler for it, for the time of a test.
struct Failing {
  Failing(int times, std::new_handler handler) : before(std::set_new_handler(handler)) {
    failures_left = times;
    requests.clear();
  }
  ~Failing() { std::set_new_handler(before); }
  std::new_handler before;
};

int handler_calls = 0;
void count_call() { ++handler_calls; }
void give_up() { throw std::bad_alloc(); }

}  // namespace

TEST_CASE("operators new are malloc, or memalign where they name an alignment") {
  const Failing none(0, nullptr);
  CHECK(call<functions::New>(std::size_t{10}) == kBlock);
  CHECK(call<functions::NewArrayNothrow>(std::size_t{20}, std::nothrow) == kBlock);
  CHECK(call<functions::NewArrayAligned>(std::size_t{30}, std::align_val_t{64}) == kBlock);
  CHECK(call<functions::NewAlignedNothrow>(std::size_t{40}, std::align_val_t{128}, std::nothrow) ==
        kBlock);
  CHECK(requests == std::vector<Request>{{10, 0}, {20, 0}, {30, 64}, {40, 128}});
}

TEST_CASE("an object of no bytes gets a block of its own") {
  const Failing none(0, nullptr);
  CHECK(call<functions::New>(std::size_t{0}) == kBlock);
  CHECK(call<functions::NewAligned>(std::size_t{0}, std::align_val_t{32}) == kBlock);
  CHECK(requests == std::vector<Request>{{1, 0}, {1, 32}});
}

TEST_CASE("without memory and without a handler operator new throws, or gives nothing") {
  const Failing always(1000, nullptr);
  CHECK_THROWS_AS(static_cast<void>(call<functions::New>(std::size_t{10})), std::bad_alloc);
  CHECK_THROWS_AS(
      static_cast<void>(call<functions::NewArrayAligned>(std::size_t{10}, std::align_val_t{32})),
      std::bad_alloc);
  CHECK(call<functions::NewNothrow>(std::size_t{10}, std::nothrow) == nullptr);
  CHECK(requests.size() == 3);
}

TEST_CASE("the handler is called until there is memory") {
  const Failing three_times(3, &count_call);
  handler_calls = 0;
  CHECK(call<functions::New>(std::size_t{10}) == kBlock);
  CHECK(handler_calls == 3);
  CHECK(requests == std::vector<Request>{{10, 0}, {10, 0}, {10, 0}, {10, 0}});

  failures_left = 2;
  handler_calls = 0;
  CHECK(call<functions::NewNothrow>(std::size_t{10}, std::nothrow) == kBlock);
  CHECK(handler_calls == 2);
}

TEST_CASE("what a handler throws leaves operator new") {
  const Failing always(1000, &give_up);
  CHECK_THROWS_AS(static_cast<void>(call<functions::New>(std::size_t{10})), std::bad_alloc);
  CHECK(requests.size() == 1);
}

TEST_CASE("operators delete are free") {
  freed.clear();
  call<functions::Delete>(kBlock);
  call<functions::DeleteArraySized>(kBlock, std::size_t{10});
  call<functions::DeleteSizedAligned>(kBlock, std::size_t{10}, std::align_val_t{32});
  call<functions::DeleteArrayNothrow>(kBlock, std::nothrow);
  call<functions::DeleteAlignedNothrow>(nullptr, std::align_val_t{32}, std::nothrow);
  CHECK(freed == std::vector<void*>{kBlock, kBlock, kBlock, kBlock, nullptr});
}
