#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>

#include "alloctap/os/patched_code.hpp"

namespace {

using namespace alloctap;

std::atomic<int> asked{0};
std::atomic<int> passed_on{0};

/// No trap is anybody's.
std::uintptr_t resume_nowhere(std::uintptr_t) noexcept {
  asked.fetch_add(1);
  return 0;
}

void (*next_handler)(int, siginfo_t*, void*) = nullptr;

void count_only(int) { passed_on.fetch_add(1); }

/// As a tool does that was installed over ours and passes on what it does not know.
void pass_to_next(int number, siginfo_t* info, void* context) {
  passed_on.fetch_add(1);
  next_handler(number, info, context);
}

/// How a child ends that runs `run`.
template <class Run>
int status_of_child(Run&& run) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGTRAP, SIG_DFL);
    signal(SIGILL, SIG_DFL);
    run();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

}  // namespace

TEST_CASE("a trap of nobody goes to who handled it before") {
  const int status = status_of_child([] {
    signal(SIGTRAP, &count_only);
    const bool caught = os::catch_traps(&resume_nowhere) && os::catch_traps(&resume_nowhere);
    raise(SIGTRAP);
    raise(SIGTRAP);
    _exit(caught && asked == 2 && passed_on == 2 ? 7 : 1);
  });
  CHECK(WEXITSTATUS(status) == 7);
}

TEST_CASE("a trap that nobody handles ends the process, also where it was ignored") {
  for (const auto before : {SIG_DFL, SIG_IGN}) {
    for (const int number : {SIGTRAP, SIGILL}) {
      const int status = status_of_child([&] {
        signal(number, before);
        os::catch_traps(&resume_nowhere);
        raise(number);
      });
      CHECK(WIFSIGNALED(status));
      CHECK(WTERMSIG(status) == number);
    }
  }
}

TEST_CASE("a handler that came over ours and passes traps on to us meets no circle") {
  const int status = status_of_child([] {
    os::catch_traps(&resume_nowhere);
    struct sigaction action{};
    struct sigaction before{};
    action.sa_flags = SA_SIGINFO;
    action.sa_sigaction = &pass_to_next;
    sigaction(SIGTRAP, &action, &before);
    next_handler = before.sa_sigaction;
    os::catch_traps(&resume_nowhere);
    raise(SIGTRAP);
  });
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGTRAP);
}
