#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <thread>
#include <vector>

#include "alloctap/runtime/thread_state.hpp"

namespace {

using alloctap::ErrnoSafeRecordingScope;
using alloctap::ThreadState;
using alloctap::ThreadStates;

/// What errno is after a section in which it became something else.
int error_after_section(int error) {
  errno = error;
  {
    const ErrnoSafeRecordingScope section;
    errno = ENOMEM;
  }
  return errno;
}

}  // namespace

TEST_CASE("a preserving section is a recording section of the calling thread") {
  const ThreadState* const mine = ThreadStates::mine();
  REQUIRE(mine != nullptr);
  {
    const ErrnoSafeRecordingScope section;
    CHECK(section.thread() == mine);
    CHECK(mine->recording == 1);
  }
  CHECK(mine->recording == 0);
}

TEST_CASE("an error number survives a preserving section, on every thread its own") {
  int seen = 0;
  CHECK(error_after_section(EEXIST) == EEXIST);
  std::thread([&] { seen = error_after_section(EISDIR); }).join();
  CHECK(seen == EISDIR);
  CHECK(error_after_section(EAGAIN) == EAGAIN);
}

TEST_CASE("threads that take over the states of ended ones have error numbers of their own") {
  // Side by side, so that many are not where the threads were whose states they get.
  constexpr int kThreads = 64;
  for (int i = 0; i < kThreads; ++i) std::thread([] { error_after_section(EAGAIN); }).join();
  std::array<int, kThreads> seen{};
  std::atomic<int> ready{0};
  std::vector<std::thread> threads;
  for (int& mine : seen) {
    threads.emplace_back([&] {
      ++ready;
      while (ready < kThreads) std::this_thread::yield();
      mine = error_after_section(EISDIR);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(std::count(seen.begin(), seen.end(), EISDIR) == kThreads);
}

TEST_CASE("an error number survives the making of a thread's state, and a look at who has ended") {
  for (int i = 0; i < 100; ++i) {
    int seen = 0;
    std::thread([&] {
      errno = EISDIR;
      static_cast<void>(ThreadStates::mine());
      seen = errno;
    }).join();
    CHECK(seen == EISDIR);
  }
}
