/// Sees what each interposed function tells.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>

#include "alloctap/hook/interpose_hook.hpp"
#include "tests/support/fakes.hpp"

namespace alloctap::testing {

/// Stands for a tracker.
struct Probe {
  using Sink = FakeSink<Probe>;
};

/// Keeps the compiler from knowing what a pointer is good for.
template <class T>
ALLOCTAP_ALWAYS_INLINE T* escape(T* pointer) {
  __asm__ volatile("" : "+r"(pointer) : : "memory");
  return pointer;
}

/// What the sink was told during a call.
struct Told {
  std::array<SinkCall, 8> calls{};
  std::size_t count = 0;
  void* result = nullptr;
};

template <class Call>
[[nodiscard]] Told told_by(Call call) {
  Told told;
  Probe::Sink::clear();
  told.result = escape(static_cast<void*>(call()));
  told.count = Probe::Sink::count();
  std::copy_n(Probe::Sink::calls().begin(), std::min(told.count, told.calls.size()),
              told.calls.begin());
  return told;
}

struct Installed {
  Installed() { REQUIRE(InterposeHook::install<Probe::Sink>().ok()); }
  ~Installed() { InterposeHook::uninstall(); }
};

/// `call` is told as one allocation; returns its block.
template <class Call>
void* allocates(AllocationKind kind, std::size_t size, std::size_t alignment, Call call) {
  const Told told = told_by(call);
  REQUIRE(told.count == 1);
  const SinkCall& event = told.calls[0];
  CHECK(event.function == SinkFunction::kAllocate);
  CHECK(event.pointer == told.result);
  CHECK(event.size == size);
  CHECK(event.alignment == alignment);
  CHECK(event.allocation_kind == kind);
  CHECK(event.origin.frame != nullptr);
  return told.result;
}

/// `call` is told as one deallocation of `block`.
template <class Call>
void frees(void* block, DeallocationKind kind, std::size_t size, std::size_t alignment, Call call) {
  const Told told = told_by([&] {
    call();
    return nullptr;
  });
  REQUIRE(told.count == 1);
  const SinkCall& event = told.calls[0];
  CHECK(event.function == SinkFunction::kDeallocate);
  CHECK(event.pointer == block);
  CHECK(event.size == size);
  CHECK(event.alignment == alignment);
  CHECK(event.deallocation_kind == kind);
}

inline void frees_with_free(void* block) {
  frees(block, DeallocationKind::kFree, 0, 0, [&] { std::free(block); });
}

/// Unknown to the compiler.
inline volatile std::size_t hundred = 100;

}  // namespace alloctap::testing
