// Every way of capturing a stack puts the caller first and stays inside its room.
#include <doctest/doctest.h>

#include <vector>

#include "alloctap/stack/backtrace_stack.hpp"
#include "alloctap/stack/frame_pointer_stack.hpp"
#include "alloctap/stack/full_unwind_stack.hpp"
#include "alloctap/stack/selectable_stack.hpp"
#include "alloctap/stack/stack_capture.hpp"
#include "alloctap/stack/unwind_table_stack.hpp"
#include "tests/support/call_chain.hpp"
#include "tests/support/fakes.hpp"

namespace {

using alloctap::testing::capture_known_stack;
using alloctap::testing::kUntouched;
using alloctap::testing::SeenStack;

using Recalling = alloctap::SelectableStack<alloctap::UnwindTableStack, alloctap::NoStack>;
using Selectable = alloctap::SelectableStack<alloctap::NoStack, alloctap::BacktraceStack>;

}  // namespace

TEST_CASE_TEMPLATE("the first frame is the caller", Stack, alloctap::NoStack,
                   alloctap::BacktraceStack, alloctap::FullUnwindStack, alloctap::FramePointerStack,
                   alloctap::UnwindTableStack, Selectable) {
  const SeenStack seen = capture_known_stack<Stack>(3, 16);
  REQUIRE(seen.result.depth >= 1);
  CHECK(seen.frames[0] == seen.expected[0]);
}

TEST_CASE_TEMPLATE("nothing is written beyond the depth that is told", Stack, alloctap::NoStack,
                   alloctap::BacktraceStack, alloctap::FullUnwindStack, alloctap::FramePointerStack,
                   alloctap::UnwindTableStack, Selectable) {
  for (const std::size_t room : {1U, 2U, 5U, 200U}) {
    const SeenStack seen = capture_known_stack<Stack>(4, room);
    REQUIRE(seen.result.depth <= room);
    for (std::size_t i = seen.result.depth; i < seen.frames.size(); ++i) {
      CHECK(seen.frames[i] == kUntouched);
    }
  }
}

TEST_CASE_TEMPLATE("a stack is truncated, full, and not failed, or none of these", Stack,
                   alloctap::NoStack, alloctap::BacktraceStack, alloctap::FullUnwindStack,
                   alloctap::UnwindTableStack, Selectable) {
  const SeenStack seen = capture_known_stack<Stack>(6, 2);
  if (seen.result.truncated) {
    CHECK(seen.result.depth == 2);
    CHECK_FALSE(seen.result.failed);
  }
}

TEST_CASE_TEMPLATE("captures that promise whole stacks give every frame in order", Stack,
                   alloctap::BacktraceStack, alloctap::FullUnwindStack,
                   alloctap::UnwindTableStack) {
  const SeenStack seen = capture_known_stack<Stack>(9, 64);
  REQUIRE(seen.result.depth > seen.expected.size());
  CHECK_FALSE(seen.result.failed);
  for (std::size_t i = 0; i < seen.expected.size(); ++i) CHECK(seen.frames[i] == seen.expected[i]);
}

TEST_CASE_TEMPLATE("the hash of a stack is that of its frames, and its frames can be had", Stack,
                   alloctap::NoStack, alloctap::BacktraceStack, alloctap::FullUnwindStack,
                   alloctap::FramePointerStack, alloctap::UnwindTableStack, Selectable) {
  for (const std::uint32_t most : {1U, 3U, 200U}) {
    std::size_t checked = 0;
    alloctap::testing::CallChain<>::call(5, [&](const alloctap::CallOrigin& origin) {
      alloctap::ThreadState& thread = *alloctap::ThreadStates::mine();
      const auto identified = alloctap::identify_stack<Stack>(thread, origin, most);
      const auto frames = alloctap::frames_of<Stack>(thread, identified);
      REQUIRE(frames.size() == identified.stack.depth);
      CHECK(frames.size() <= most);
      CHECK(alloctap::hash_frames(frames) == identified.hash);
      CHECK(frames[0] == reinterpret_cast<std::uintptr_t>(origin.caller));
      checked = frames.size();
    });
    CHECK(checked > 0);
  }
}

TEST_CASE_TEMPLATE("what is recalled is the stack, and only while nothing of it has changed", Stack,
                   alloctap::UnwindTableStack, Recalling) {
  static_assert(alloctap::RecallingStackCapture<Stack>);
  const auto come_by = [](const alloctap::CallOrigin& origin, std::uint32_t most) {
    alloctap::ThreadState& thread = *alloctap::ThreadStates::mine();
    alloctap::RememberedStack* const recalled = Stack::recall(thread, origin, most);
    const auto identified = Stack::identify_uncached(thread, origin, most, recalled);
    const auto frames = Stack::identified_frames(thread, identified);
    REQUIRE(frames.size() == identified.stack.depth);
    CHECK(alloctap::hash_frames(frames) == identified.hash);
    if (recalled != nullptr) CHECK(identified.place == &recalled->place);
    return recalled != nullptr;
  };
  int times = 0;
  for (const std::size_t depth : {5U, 6U, 5U}) {
    alloctap::testing::CallChain<>::call(depth, [&](const alloctap::CallOrigin& origin) {
      const alloctap::CallOrigin same = origin;
      CHECK_FALSE(come_by(same, 200));
      for (int i = 0; i < 2; ++i) come_by(same, 200);
      CHECK(come_by(same, 200));
      CHECK_FALSE(come_by(same, 3));
      alloctap::UnwindTableStack::forget_unloaded_modules();
      CHECK_FALSE(come_by(same, 200));
      ++times;
    });
  }
  CHECK(times == 3);
}

TEST_CASE_TEMPLATE("frames of the allocator are left out where they are the innermost", Stack,
                   alloctap::BacktraceStack, alloctap::FullUnwindStack,
                   alloctap::UnwindTableStack) {
  using alloctap::testing::CallChain;
  const std::vector<std::uintptr_t> chain =
      CallChain<>::call(6, [](const alloctap::CallOrigin&) {});
  alloctap::AllocatorFrames allocator;
  for (const std::size_t left_out : {0U, 1U, 4U}) allocator.add(chain[left_out]);
  // The same stack comes again and again, as a loop's does.
  for (int i = 0; i < 4; ++i) {
    CallChain<>::call(6, [&](alloctap::CallOrigin origin) {
      origin.allocator = &allocator;
      alloctap::ThreadState& thread = *alloctap::ThreadStates::mine();
      const auto identified = alloctap::identify_stack<Stack>(thread, origin, 64);
      const auto frames = alloctap::frames_of<Stack>(thread, identified);
      REQUIRE(frames.size() > 4);
      CHECK_FALSE(identified.stack.failed);
      CHECK(frames[0] == chain[2]);
      CHECK(frames[1] == chain[3]);
      CHECK(frames[2] == chain[4]);
      CHECK(alloctap::hash_frames(frames) == identified.hash);
    });
  }
}
