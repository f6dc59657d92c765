#include "alloctap/os/process_copy.hpp"

#include <doctest/doctest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <new>
#include <thread>
#include <vector>

#include "alloctap/os/futex.hpp"
#include "alloctap/os/virtual_memory.hpp"
#include "tests/support/copied_process.hpp"

namespace {

namespace os = alloctap::os;
using alloctap::testing::CopiedProcess;
using alloctap::testing::CopyNotes;

std::atomic<int> private_number{1};
std::atomic<int> child_signals{0};
std::atomic<int> forks_noticed{0};

void change_numbers(CopyNotes& notes) {
  notes.number = private_number.load();
  private_number = 99;
}

void wait_for_end(CopyNotes& notes) {
  while (notes.go_on.load() == 0) os::futex_wait(notes.go_on, 0, 1'000'000);
}

void crash(CopyNotes&) { ::raise(SIGKILL); }

}  // namespace

TEST_CASE("a copy sees memory as it was, and changes nothing but what is shared") {
  private_number = 1;
  CopiedProcess copied(&change_numbers);
  REQUIRE(copied.error() == 0);
  private_number = 2;
  copied.wait();
  CHECK(copied.notes().ended == 1);
  CHECK(copied.notes().number == 1);
  CHECK(private_number == 2);
}

TEST_CASE("a copy that is killed is waited for, and did not come to its end") {
  CopiedProcess copied(&crash);
  REQUIRE(copied.error() == 0);
  copied.wait();
  CHECK(copied.notes().ended == 0);
}

TEST_CASE("the program hears nothing of a copy: no wait, no signal, no handler for forks") {
  static const bool registered = ::pthread_atfork([] { ++forks_noticed; }, nullptr, nullptr) == 0;
  REQUIRE(registered);
  forks_noticed = 0;
  child_signals = 0;
  struct sigaction before{};
  struct sigaction action{};
  action.sa_handler = [](int) { ++child_signals; };
  REQUIRE(::sigaction(SIGCHLD, &action, &before) == 0);
  int waited_during = 0;
  int error_during = 0;
  {
    CopiedProcess copied(&wait_for_end);
    REQUIRE(copied.error() == 0);
    waited_during = ::waitpid(-1, nullptr, WNOHANG);
    error_during = errno;
    copied.notes().go_on = 1;
    copied.wait();
    CHECK(copied.notes().ended == 1);
  }
  CHECK(waited_during == -1);
  CHECK(error_during == ECHILD);
  CHECK(::waitpid(-1, nullptr, WNOHANG | __WALL) == -1);
  CHECK(child_signals == 0);
  CHECK(forks_noticed == 0);
  ::sigaction(SIGCHLD, &before, nullptr);
}

TEST_CASE("a copy made while the ends of processes are ignored is waited for too") {
  struct sigaction before{};
  struct sigaction action{};
  action.sa_handler = SIG_IGN;
  REQUIRE(::sigaction(SIGCHLD, &action, &before) == 0);
  {
    CopiedProcess copied(&change_numbers);
    REQUIRE(copied.error() == 0);
    copied.wait();
    CHECK(copied.notes().ended == 1);
  }
  ::sigaction(SIGCHLD, &before, nullptr);
}

TEST_CASE("the registers of threads that run are in the list, with their stacks and storage") {
  constexpr std::size_t kThreads = 8;
  std::atomic<bool> done{false};
  std::atomic<std::size_t> ready{0};
  std::vector<std::thread> threads;
  std::vector<std::uintptr_t> places(kThreads);
  std::vector<os::ThreadId> ids(kThreads);
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      const std::size_t local = i;
      places[i] = reinterpret_cast<std::uintptr_t>(&local);
      ids[i] = os::current_thread_id();
      ++ready;
      while (!done) {
      }
    });
  }
  while (ready < kThreads) std::this_thread::yield();
  CopiedProcess copied(&change_numbers);
  done = true;
  copied.wait();
  REQUIRE(copied.error() == 0);
  CHECK(copied.unseen() == 0);
  CHECK(copied.notes().threads == kThreads);
  for (std::size_t i = 0; i < kThreads; ++i) {
    const auto seen = std::find_if(copied.threads().begin(), copied.threads().end(),
                                   [&](const auto& thread) { return thread.id == ids[i]; });
    REQUIRE(seen != copied.threads().end());
    CHECK(seen->seen);
    CHECK(seen->stack_pointer <= places[i]);
    CHECK(places[i] - seen->stack_pointer < 4096);
    CHECK(seen->thread_pointer > places[i]);
    CHECK(seen->thread_pointer - places[i] < (8 << 20) + 65536);
    CHECK(seen->count > 16);
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_CASE("copies can be made while threads come and go") {
  std::atomic<bool> done{false};
  std::vector<std::thread> makers;
  for (int i = 0; i < 4; ++i) {
    makers.emplace_back([&] {
      while (!done) std::thread([] { private_number.fetch_add(1); }).join();
    });
  }
  int failed = 0;
  std::size_t unseen = 0;
  for (int i = 0; i < 100; ++i) {
    CopiedProcess copied(&change_numbers);
    copied.wait();
    failed += copied.error() != 0 || copied.notes().ended != 1;
    unseen += copied.unseen();
  }
  done = true;
  for (std::thread& maker : makers) maker.join();
  CHECK(failed == 0);
  CHECK(unseen == 0);
}

TEST_CASE("more threads than there is room for are told as not seen") {
  std::atomic<bool> done{false};
  std::thread others[3];
  for (std::thread& thread : others) {
    thread = std::thread([&] {
      while (!done) std::this_thread::yield();
    });
  }
  CopiedProcess copied(&change_numbers, 1);
  done = true;
  for (std::thread& thread : others) thread.join();
  copied.wait();
  CHECK(copied.error() == 0);
  CHECK(copied.notes().ended == 1);
  CHECK(copied.unseen() == 2);
}
