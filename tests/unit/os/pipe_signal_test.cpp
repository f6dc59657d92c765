#include <doctest/doctest.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>

#include "alloctap/os/file.hpp"
#include "tests/support/child_process.hpp"

namespace {

namespace os = alloctap::os;
using alloctap::testing::holds_in_child;

sigset_t pipe_signal() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGPIPE);
  return set;
}

bool is_pending() {
  sigset_t set;
  return ::sigpending(&set) == 0 && ::sigismember(&set, SIGPIPE) == 1;
}

bool is_blocked() {
  sigset_t mask;
  return ::pthread_sigmask(SIG_BLOCK, nullptr, &mask) == 0 && ::sigismember(&mask, SIGPIPE) == 1;
}

void block() {
  const sigset_t set = pipe_signal();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

/// Whether a write to a pipe without a reader fails as it should.
bool write_fails() {
  int ends[2];
  if (::pipe(ends) != 0 || ::close(ends[0]) != 0) return false;
  return os::write_all_without_signal(ends[1], "text") == -EPIPE;
}

}  // namespace

TEST_CASE("a pipe without a reader is an error, and its signal does not end the program") {
  CHECK(holds_in_child([] {
    ::signal(SIGPIPE, SIG_DFL);
    return write_fails() && !is_pending() && !is_blocked();
  }));
}

TEST_CASE("a program that blocks SIGPIPE gets none by a dump") {
  CHECK(holds_in_child([] {
    block();
    return write_fails() && !is_pending() && is_blocked();
  }));
}

TEST_CASE("a SIGPIPE that was pending stays pending") {
  CHECK(holds_in_child([] {
    block();
    ::pthread_kill(::pthread_self(), SIGPIPE);
    return write_fails() && is_pending() && is_blocked();
  }));
}
