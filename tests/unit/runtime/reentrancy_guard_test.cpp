#include <cstddef>

// The calls of malloc in this file reach a function that looks at the guard, as they reach a hook
// in a program. The compiler must still take it for malloc, which it believes to read no data.
extern "C" void* malloc(std::size_t bytes) noexcept __asm__("alloctap_test_malloc");
extern "C" void free(void* pointer) noexcept __asm__("alloctap_test_free");

#include <doctest/doctest.h>

#include <cstdint>
#include <thread>

#include "alloctap/runtime/reentrancy_guard.hpp"

namespace {

using alloctap::ReentrancyGuard;
using alloctap::this_thread_slot;
using alloctap::UseInternalArena;

// Volatile for the same reason that makes the guard atomic.
volatile std::int32_t depth_in_malloc = -1;
volatile std::int32_t depth_in_free = -1;
void* volatile pointer_from_malloc = nullptr;
alignas(16) std::byte block[16];

std::int32_t depth() { return this_thread_slot().depth.load(std::memory_order_relaxed); }

}  // namespace

extern "C" __attribute__((used)) void* observed_malloc(std::size_t) noexcept
    __asm__("alloctap_test_malloc");
extern "C" void* observed_malloc(std::size_t) noexcept {
  depth_in_malloc = depth();
  return block;
}

extern "C" __attribute__((used)) void observed_free(void*) noexcept __asm__("alloctap_test_free");
extern "C" void observed_free(void*) noexcept { depth_in_free = depth(); }

TEST_CASE("the outermost guard is the first, and each is undone") {
  CHECK(depth() == 0);
  {
    const ReentrancyGuard outer;
    CHECK(outer.is_outermost());
    {
      const ReentrancyGuard inner;
      CHECK_FALSE(inner.is_outermost());
      CHECK(depth() == 2);
    }
    CHECK(depth() == 1);
  }
  CHECK(depth() == 0);
  const ReentrancyGuard again;
  CHECK(again.is_outermost());
}

TEST_CASE("a guard is up while malloc and free are called directly") {
  {
    const ReentrancyGuard guard;
    pointer_from_malloc = malloc(16);
  }
  {
    const ReentrancyGuard guard;
    free(pointer_from_malloc);
  }
  CHECK(depth_in_malloc == 1);
  CHECK(depth_in_free == 1);
  CHECK(depth() == 0);
}

TEST_CASE("a guard holds for its own thread only") {
  const ReentrancyGuard guard;
  bool outermost = false;
  std::thread([&] { outermost = ReentrancyGuard().is_outermost(); }).join();
  CHECK(outermost);
}

TEST_CASE("own allocations are active, and guarded, while one is alive") {
  CHECK_FALSE(UseInternalArena::active());
  {
    const UseInternalArena outer;
    const UseInternalArena inner;
    CHECK(UseInternalArena::active());
    CHECK_FALSE(ReentrancyGuard().is_outermost());
    bool active_elsewhere = true;
    std::thread([&] { active_elsewhere = UseInternalArena::active(); }).join();
    CHECK_FALSE(active_elsewhere);
  }
  CHECK_FALSE(UseInternalArena::active());
  CHECK(ReentrancyGuard().is_outermost());
}
