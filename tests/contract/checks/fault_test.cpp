// What guard pages see in a program whose allocation functions are all hooked.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

#include "alloctap/status.hpp"
#include "tests/contract/checks/guarded_tracker.hpp"
#include "tests/contract/hooks/hooked_program.hpp"

namespace {

using namespace alloctap;
using alloctap::testing::escape;
using alloctap::testing::GuardedTracker;
using alloctap::testing::OutlivingGuardPages;

/// doctest has a handler of its own for each test, which takes the tracker's place.
void stand_before_doctest() {
  os::FaultSignal::forget();
  REQUIRE(os::FaultSignal::take_over());
}

/// The faults that `work` makes, in the order in which they are found first.
template <class Work>
std::vector<Misuse> faults_of(Work&& work) {
  stand_before_doctest();
  const alloctap::Result<Snapshot> before = GuardedTracker::snapshot();
  REQUIRE(before.ok());
  work();
  const alloctap::Result<Snapshot> after = GuardedTracker::snapshot();
  REQUIRE(after.ok());
  std::vector<Misuse> faults;
  for (std::size_t i = before->misuses.size(); i < after->misuses.size(); ++i) {
    faults.push_back(after->misuses[i].first);
  }
  return faults;
}

constexpr std::size_t kSize = 48;

volatile char* block_of_malloc() { return static_cast<volatile char*>(escape(std::malloc(kSize))); }

void give_back(volatile char* block) { std::free(escape(const_cast<char*>(block))); }

/// How a child that does `work`, and outlives no fault, ends.
template <class Work>
int end_of_child(Work&& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    OutlivingGuardPages::outlives.store(false);
    static_cast<void>(std::signal(SIGSEGV, SIG_DFL));
    stand_before_doctest();
    work();
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return status;
}

void read_behind() {
  volatile char* const block = block_of_malloc();
  static_cast<void>(block[kSize]);
}

constexpr int kHandled = 7;
void end_handled(int) { ::_exit(kHandled); }

/// Whoever is last installed.
bool is_handled(int status) { return WIFEXITED(status) && WEXITSTATUS(status) == kHandled; }

}  // namespace

TEST_CASE("reads and writes behind a block and after its end are told, and made again") {
  for (const bool writes : {false, true}) {
    CAPTURE(writes);
    const auto touch = [&](volatile char* at) {
      if (writes) {
        *at = 7;
      } else {
        static_cast<void>(*at);
      }
    };
    const auto behind = faults_of([&] {
      volatile char* const block = block_of_malloc();
      touch(block + kSize + 3);
      give_back(block);
    });
    REQUIRE(behind.size() == 1);
    CHECK(behind[0].kind == (writes ? MisuseKind::kWriteBehind : MisuseKind::kReadBehind));
    CHECK(behind[0].address == behind[0].block.address + kSize + 3);
    CHECK(behind[0].block.size == kSize);
    CHECK_FALSE(behind[0].block.freed);
    const auto late = faults_of([&] {
      volatile char* const block = block_of_malloc();
      give_back(block);
      touch(block);
    });
    REQUIRE(late.size() == 1);
    CHECK(late[0].kind == (writes ? MisuseKind::kWriteAfterFree : MisuseKind::kReadAfterFree));
    CHECK(late[0].block.freed);
    CHECK(late[0].found.stack != late[0].block.allocated.stack);
    CHECK(late[0].found.stack != late[0].block.gone.stack);
    CHECK(late[0].block.gone.stack != kNoStackId);
  }
}

TEST_CASE("a bad read inside of strdup is told, too") {
  const auto faults = faults_of([] {
    auto* const text = static_cast<char*>(escape(std::malloc(kSize)));
    std::memset(text, 'x', kSize);
    std::free(escape(::strdup(text)));
    std::free(text);
  });
  REQUIRE(faults.size() >= 1);
  CHECK(faults[0].kind == MisuseKind::kReadBehind);
}

TEST_CASE(
    "a block that lived through a fault is as good as another, and so is the next one there") {
  static_cast<void>(faults_of([] {
    for (int i = 0; i < 3; ++i) {
      auto* const block = static_cast<char*>(escape(std::malloc(kSize)));
      escape(block)[kSize] = 7;
      std::free(block);
    }
  }));
  const auto faults = faults_of([] {
    bool is_zero = true;
    for (int i = 0; i < 20000; ++i) {
      auto* const block = static_cast<unsigned char*>(escape(std::calloc(1, 4096 + kSize)));
      is_zero = is_zero && block[0] == 0 && block[4096 + kSize - 1] == 0;
      block[0] = 7;
      std::free(block);
    }
    CHECK(is_zero);
  });
  CHECK(faults.empty());
}

TEST_CASE("threads that fault at the same time are all told of") {
  const auto faults = faults_of([] {
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([] {
        for (int round = 0; round < 50; ++round) {
          volatile char* const block = block_of_malloc();
          static_cast<void>(block[kSize]);
          give_back(block);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  std::uint64_t times = 0;
  const alloctap::Result<Snapshot> now = GuardedTracker::snapshot();
  REQUIRE(now.ok());
  for (const Misuse& fault : faults) {
    for (const CountedMisuse& counted : now->misuses) {
      if (counted.first.found.stack == fault.found.stack &&
          counted.first.block.allocated.stack == fault.block.allocated.stack) {
        times += counted.times;
      }
    }
  }
  CHECK(times == 400);
}

TEST_CASE("blocks of no bytes are all different, and nobody may touch them") {
  const auto faults = faults_of([] {
    volatile char* const first = static_cast<char*>(escape(std::malloc(0)));
    volatile char* const second = static_cast<char*>(escape(std::malloc(0)));
    const bool are_different = first != second;
    CHECK(are_different);
    static_cast<void>(*first);
    give_back(first);
    give_back(second);
  });
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].kind == MisuseKind::kReadBehind);
  CHECK(faults[0].block.size == 0);
}

TEST_CASE("who is not to outlive a fault ends by it, as without") {
  const int status = end_of_child(&read_behind);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGSEGV);
}

TEST_CASE("a handler that the program installs takes our place, and one from before has its turn") {
  CHECK(is_handled(end_of_child([] {
    static_cast<void>(std::signal(SIGSEGV, &end_handled));
    read_behind();
  })));
}

TEST_CASE("faults of others end the process, or come to its handler, as without") {
  volatile char* const nowhere = escape(reinterpret_cast<char*>(std::uintptr_t{64}));
  const int status = end_of_child([&] { *nowhere = 1; });
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGSEGV);
  const int sent = end_of_child([] { ::raise(SIGSEGV); });
  CHECK(WIFSIGNALED(sent));
  CHECK(WTERMSIG(sent) == SIGSEGV);
}
