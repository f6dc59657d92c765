#include "alloctap/stack/thread_stacks.hpp"

#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <thread>

#include "alloctap/annotate.hpp"
#include "tests/support/address_of.hpp"
#include "tests/support/offered_annotations.hpp"

namespace {

using namespace alloctap;
using alloctap::testing::address_of;

/// An address on the stack of whoever calls.
ALLOCTAP_NOINLINE std::uintptr_t somewhere_on_stack() {
  return address_of(ALLOCTAP_FRAME_ADDRESS());
}

constexpr std::size_t kBytes = 64 * 1024;
using FiberMemory = std::array<char, kBytes>;

/// A chain of one frame.
void remember_something(StackChain& stack) {
  REQUIRE(stack.prepare(4, &stack, 1));
  stack.chain.push(NotedFrame{}, false);
}

}  // namespace

TEST_CASE("a thread's own stack is found, and its chain stays") {
  for (const bool in_thread : {false, true}) {
    const auto check = [] {
      ThreadStacks stacks;
      const ThreadState& thread = *ThreadStates::mine();
      StackChain* const own = stacks.find(thread, somewhere_on_stack());
      REQUIRE(own != nullptr);
      CHECK(own->bounds.contains(somewhere_on_stack()));
      CHECK(own->bounds.high <= os::find_stack_bounds(somewhere_on_stack()).high);
      remember_something(*own);
      CHECK(stacks.find(thread, somewhere_on_stack() - 100) == own);
      CHECK(own->chain.size() == 1);
      own->chain.release();
    };
    in_thread ? std::thread(check).join() : check();
  }
}

TEST_CASE("memory that nobody called a stack is none, again and again") {
  ThreadStacks stacks;
  const auto memory = std::make_unique<FiberMemory>();
  const ThreadState& thread = *ThreadStates::mine();
  for (int i = 0; i < 3; ++i) {
    CHECK(stacks.find(thread, address_of(&(*memory)[kBytes / 2])) == nullptr);
    CHECK(stacks.find(thread, somewhere_on_stack()) != nullptr);
  }
}

TEST_CASE("what was remembered of another thread's stack is forgotten with the thread") {
  ThreadStacks stacks;
  ThreadState& thread = *ThreadStates::mine();
  StackChain* const own = stacks.find(thread, somewhere_on_stack());
  REQUIRE(own != nullptr);
  remember_something(*own);
  const std::uint64_t serial = own->serial;
  const os::StackBounds bounds = own->bounds;
  // Bounds that were another thread's.
  own->bounds.high += std::uintptr_t{1} << 30U;
  ++thread.generation;
  CHECK(stacks.find(thread, somewhere_on_stack()) == own);
  CHECK(own->chain.size() == 0);
  CHECK(own->serial != serial);
  CHECK(own->bounds.high == bounds.high);
  --thread.generation;
  own->chain.release();
}

TEST_CASE("a fiber's stack is found while its scope lives") {
  ThreadStacks stacks;
  const ThreadState& thread = *ThreadStates::mine();
  const auto memory = std::make_unique<FiberMemory>();
  const std::uintptr_t low = address_of(memory.get());
  CHECK(stacks.find(thread, low + 100) == nullptr);
  {
    const fiber_scope scope{memory.get(), kBytes};
    StackChain* const fiber = stacks.find(thread, low + 100);
    REQUIRE(fiber != nullptr);
    CHECK(fiber->bounds.low == low);
    CHECK(fiber->bounds.high == low + kBytes);
    CHECK(stacks.find(thread, low) == fiber);
    CHECK(stacks.find(thread, low + kBytes - 1) == fiber);
    StackChain* const own = stacks.find(thread, somewhere_on_stack());
    CHECK(own != fiber);
    CHECK(stacks.find(thread, low + 100) == fiber);
  }
  CHECK(stacks.find(thread, low + 100) == nullptr);
}

TEST_CASE("a scope at the place of another has a chain of its own") {
  ThreadStacks stacks;
  const ThreadState& thread = *ThreadStates::mine();
  const auto memory = std::make_unique<FiberMemory>();
  const std::uintptr_t low = address_of(memory.get());
  auto large = std::make_unique<fiber_scope>(memory.get(), kBytes);
  StackChain* const before = stacks.find(thread, low + 100);
  REQUIRE(before != nullptr);
  large.reset();
  const fiber_scope small{memory.get(), kBytes / 2};
  StackChain* const after = stacks.find(thread, low + 100);
  REQUIRE(after != nullptr);
  CHECK(after->bounds.high == low + kBytes / 2);
  CHECK(after->chain.size() == 0);
  CHECK(stacks.find(thread, low + kBytes / 2 + 100) == nullptr);
}

TEST_CASE("a fiber's chain goes from thread to thread") {
  const auto memory = std::make_unique<FiberMemory>();
  const std::uintptr_t place = address_of(memory.get()) + 100;
  const fiber_scope scope{memory.get(), kBytes};
  ThreadStacks stacks;
  StackChain* const here = stacks.find(*ThreadStates::mine(), place);
  REQUIRE(here != nullptr);
  remember_something(*here);
  std::thread([&] {
    ThreadStacks others;
    CHECK(others.find(*ThreadStates::mine(), place) == here);
    CHECK(here->chain.size() == 1);
  }).join();
}
