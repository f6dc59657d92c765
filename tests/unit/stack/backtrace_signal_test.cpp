#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <csignal>
#include <vector>

#include "alloctap/stack/backtrace_stack.hpp"
#include "tests/support/call_chain.hpp"

namespace {

using alloctap::BacktraceStack;
using alloctap::CallOrigin;
using alloctap::CapturedStack;
using alloctap::ThreadStates;
using alloctap::testing::CallChain;

constexpr std::size_t kSignalRoom = 512;

/// What the handler of a signal saw.
struct {
  sigjmp_buf resume;
  std::uintptr_t interrupted;
  CapturedStack result;
  std::uintptr_t frames[kSignalRoom];
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

TEST_CASE("a backtrace passes a signal's frame, and marks what was interrupted") {
  const auto expected = CallChain<>::call(4, [](const CallOrigin&) { die_and_survive(); });
  const std::vector<std::uintptr_t> frames(in_handler.frames,
                                           in_handler.frames + in_handler.result.depth);
  CHECK_FALSE(in_handler.result.failed);
  CHECK(std::find(frames.begin(), frames.end(), in_handler.interrupted + 1) != frames.end());
  CHECK(std::search(frames.begin(), frames.end(), expected.begin(), expected.end()) !=
        frames.end());
}
