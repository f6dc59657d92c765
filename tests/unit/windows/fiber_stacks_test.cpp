#include <doctest/doctest.h>

#include "alloctap/os/windows/thread_local.hpp"
#include "alloctap/stack/thread_stacks.hpp"

using namespace alloctap;

TEST_CASE("a stack that ends elsewhere is another one, though it lies amid the place of the last") {
  auto* const block = reinterpret_cast<NT_TIB*>(os::thread_block());
  void* const base = block->StackBase;
  const auto here = reinterpret_cast<std::uintptr_t>(ALLOCTAP_FRAME_ADDRESS());
  ThreadStacks stacks;
  const ThreadState& thread = *ThreadStates::mine();
  StackChain* const own = stacks.find(thread, here);
  REQUIRE(own != nullptr);
  const std::uint64_t serial = own->serial;
  const std::uintptr_t high = own->bounds.high;
  CHECK(stacks.find(thread, here) == own);
  CHECK(own->serial == serial);
  // As a change of fibers does it.
  block->StackBase = static_cast<char*>(base) - 64;
  const StackChain* const shorter = stacks.find(thread, here);
  const std::uintptr_t shorter_high = shorter != nullptr ? shorter->bounds.high : 0;
  block->StackBase = base;
  CHECK(shorter_high == high - 64);
  REQUIRE(stacks.find(thread, here) == own);
  CHECK(own->serial != serial);
  CHECK(own->bounds.high == high);
  own->chain.release();
}
