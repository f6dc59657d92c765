#include "alloctap/stack/backtrace_stack.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <csignal>
#include <thread>
#include <vector>

#include "tests/support/call_chain.hpp"

namespace {

using alloctap::BacktraceStack;
using alloctap::CallOrigin;
using alloctap::CapturedStack;
using alloctap::ThreadStates;
using alloctap::testing::CallChain;
using alloctap::testing::capture_known_stack;
using alloctap::testing::SeenStack;

constexpr std::size_t kRoom = 512;

void check_starts_with_known_frames(const SeenStack& seen) {
  REQUIRE(seen.result.depth >= seen.expected.size());
  CHECK(std::equal(seen.expected.begin(), seen.expected.end(), seen.frames.begin()));
}

/// What the handler of a signal saw.
struct {
  sigjmp_buf resume;
  std::uintptr_t interrupted;
  CapturedStack result;
  std::uintptr_t frames[kRoom];
} in_handler;

ALLOCTAP_NOINLINE void capture_in_handler() {
  in_handler.result =
      BacktraceStack::capture(*ThreadStates::mine(), ALLOCTAP_CALL_ORIGIN(), in_handler.frames);
}

void handle_trap(int, siginfo_t* info, void*) {
  in_handler.interrupted = reinterpret_cast<std::uintptr_t>(info->si_addr);
  capture_in_handler();
  siglongjmp(in_handler.resume, 1);
}

/// What __builtin_trap raises depends on the processor.
constexpr std::array kTraps{SIGILL, SIGTRAP};

void die_and_survive() {
  struct sigaction action{};
  std::array<struct sigaction, kTraps.size()> before{};
  action.sa_sigaction = &handle_trap;
  action.sa_flags = SA_SIGINFO;
  for (std::size_t i = 0; i < kTraps.size(); ++i) sigaction(kTraps[i], &action, &before[i]);
  if (sigsetjmp(in_handler.resume, 1) == 0) __builtin_trap();
  for (std::size_t i = 0; i < kTraps.size(); ++i) sigaction(kTraps[i], &before[i], nullptr);
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

TEST_CASE("a backtrace passes a signal's frame, and marks what was interrupted") {
  const auto expected = CallChain<>::call(4, [](const CallOrigin&) { die_and_survive(); });
  const std::vector<std::uintptr_t> frames(in_handler.frames,
                                           in_handler.frames + in_handler.result.depth);
  CHECK_FALSE(in_handler.result.failed);
  CHECK(std::find(frames.begin(), frames.end(), in_handler.interrupted + 1) != frames.end());
  CHECK(std::search(frames.begin(), frames.end(), expected.begin(), expected.end()) !=
        frames.end());
}
