// Where the system makes a copy of the process.
#include <doctest/doctest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "alloctap/os/frozen_process.hpp"
#include "alloctap/os/futex.hpp"
#include "tests/support/frozen_moment.hpp"

namespace {

namespace os = alloctap::os;
using alloctap::testing::FrozenMoment;
using alloctap::testing::FrozenNotes;

std::atomic<int> private_number{1};
std::atomic<int> child_signals{0};
std::atomic<int> forks_noticed{0};

void change_numbers(FrozenNotes& notes) {
  notes.number = private_number.load();
  private_number = 99;
}

void wait_for_end(FrozenNotes& notes) {
  while (notes.go_on.load() == 0) os::futex_wait(notes.go_on, 0, 1'000'000);
}

void crash(FrozenNotes&) { ::raise(SIGKILL); }

}  // namespace

TEST_CASE("a copy sees memory as it was, and changes nothing but what is shared") {
  private_number = 1;
  FrozenMoment frozen(&change_numbers);
  REQUIRE(frozen.error() == 0);
  private_number = 2;
  frozen.wait();
  CHECK(frozen.notes().ended == 1);
  CHECK(frozen.notes().number == 1);
  CHECK(private_number == 2);
}

TEST_CASE("a copy that is killed is waited for, and did not come to its end") {
  FrozenMoment frozen(&crash);
  REQUIRE(frozen.error() == 0);
  frozen.wait();
  CHECK(frozen.notes().ended == 0);
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
    FrozenMoment frozen(&wait_for_end);
    REQUIRE(frozen.error() == 0);
    waited_during = ::waitpid(-1, nullptr, WNOHANG);
    error_during = errno;
    frozen.notes().go_on = 1;
    frozen.wait();
    CHECK(frozen.notes().ended == 1);
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
    FrozenMoment frozen(&change_numbers);
    REQUIRE(frozen.error() == 0);
    frozen.wait();
    CHECK(frozen.notes().ended == 1);
  }
  ::sigaction(SIGCHLD, &before, nullptr);
}
