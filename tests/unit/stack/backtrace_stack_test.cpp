#include "alloctap/stack/backtrace_stack.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <thread>
#include <vector>

#include "tests/support/call_chain.hpp"

namespace {

using alloctap::BacktraceStack;
using alloctap::CallOrigin;
using alloctap::CapturedStack;
using alloctap::ThreadStates;
using alloctap::testing::capture_known_stack;
using alloctap::testing::SeenStack;

constexpr std::size_t kRoom = 512;

void check_starts_with_known_frames(const SeenStack& seen) {
  REQUIRE(seen.result.depth >= seen.expected.size());
  CHECK(std::equal(seen.expected.begin(), seen.expected.end(), seen.frames.begin()));
}

}  // namespace

TEST_CASE("a backtrace is every frame from the caller of the hook to the thread's first") {
  const SeenStack seen = capture_known_stack<BacktraceStack>(20, kRoom);
  check_starts_with_known_frames(seen);
  CHECK_FALSE(seen.result.failed);
  CHECK_FALSE(seen.result.truncated);
  CHECK(seen.result.depth > seen.expected.size());
}

TEST_CASE("a backtrace of another thread ends where that began") {
  SeenStack seen;
  std::thread([&] { seen = capture_known_stack<BacktraceStack>(5, kRoom); }).join();
  check_starts_with_known_frames(seen);
  CHECK_FALSE(seen.result.failed);
}

TEST_CASE("a backtrace that is longer than the room keeps the inner frames and says so") {
  const SeenStack seen = capture_known_stack<BacktraceStack>(20, 7);
  CHECK(seen.result.depth == 7);
  CHECK(seen.result.truncated);
  CHECK_FALSE(seen.result.failed);
  CHECK(std::equal(seen.frames.begin(), seen.frames.begin() + 7, seen.expected.begin()));
  CHECK(seen.frames[7] == alloctap::testing::kUntouched);
}

TEST_CASE("a backtrace that just fits is not truncated") {
  std::thread([] {
    const SeenStack all = capture_known_stack<BacktraceStack>(3, kRoom);
    const SeenStack exact = capture_known_stack<BacktraceStack>(3, all.result.depth);
    CHECK(exact.result.depth == all.result.depth);
    CHECK_FALSE(exact.result.truncated);
    CHECK_FALSE(exact.result.failed);
    CHECK(capture_known_stack<BacktraceStack>(3, all.result.depth - 1).result.truncated);
  }).join();
}

TEST_CASE("a backtrace that never meets the caller is the caller alone, and failed") {
  std::uintptr_t frames[8] = {};
  const int not_code = 0;
  const CapturedStack stack =
      BacktraceStack::capture(*ThreadStates::mine(), CallOrigin{.caller = &not_code}, frames);
  CHECK(stack.depth == 1);
  CHECK(stack.failed);
  CHECK(frames[0] == reinterpret_cast<std::uintptr_t>(&not_code));
}
