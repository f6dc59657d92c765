// Handlers of signals that allocate, on either stack, wherever they interrupt.
#include <sys/mman.h>
#include <sys/time.h>

#include <atomic>
#include <csignal>
#include <initializer_list>
#include <map>
#include <vector>

#include "compared_process.hpp"

namespace {

using namespace alloctap::testing;

using Handler = void (*)(int);

/// A handler, and a stack for it, while this lives.
class Handling {
 public:
  Handling(std::initializer_list<int> signals, Handler handler, int flags) : stack_(1U << 16U) {
    const stack_t stack{.ss_sp = stack_.data(), .ss_flags = 0, .ss_size = stack_.size()};
    if ((flags & SA_ONSTACK) != 0) REQUIRE(sigaltstack(&stack, &stack_before_) == 0);
    for (const int signal : signals) {
      struct sigaction action{};
      action.sa_handler = handler;
      action.sa_flags = flags | SA_RESTART;
      REQUIRE(sigaction(signal, &action, &before_[signal]) == 0);
    }
  }
  Handling(const Handling&) = delete;
  Handling& operator=(const Handling&) = delete;
  ~Handling() {
    for (const auto& [signal, action] : before_) sigaction(signal, &action, nullptr);
    const stack_t none{.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
    sigaltstack(&none, nullptr);
  }

 private:
  std::vector<char> stack_;
  stack_t stack_before_{};
  std::map<int, struct sigaction> before_;
};

ALLOCTAP_NOINLINE void raise_from(int depth, int signal) {
  allocate();
  if (depth > 0) {
    raise_from(depth - 1, signal);
  } else {
    raise(signal);
  }
  allocate();
}

ALLOCTAP_NOINLINE void deeper(int depth) {
  if (depth > 0) {
    deeper(depth - 1);
    return stay();
  }
  allocate();
}

void allocate_in_handler(int) { deeper(3); }

/// SIGUSR1's handler is interrupted by SIGUSR2's.
void raise_in_handler(int signal) {
  allocate();
  if (signal == SIGUSR1) raise(SIGUSR2);
  deeper(signal == SIGUSR1 ? 2 : 5);
}

void check_raised_signals(Handler handler, int flags) {
  const Handling handling({SIGUSR1, SIGUSR2}, handler, flags);
  ComparedRun run;
  for (int i = 0; i < 60; ++i) {
    raise_from(i % 23, SIGUSR1);
    allocate();
  }
  run.check_whole(1'000);
}

std::atomic<int> interruptions{0};

/// Unlike malloc, a mapping may be asked for in any handler.
ALLOCTAP_NOINLINE void map_a_page() {
  void* page = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(escape(page), 4096);
}

void map_in_handler(int) {
  interruptions.fetch_add(1, std::memory_order_relaxed);
  map_a_page();
}

/// Small functions, so that the signal often comes while a frame is made or left.
ALLOCTAP_NOINLINE int busy(int depth, int x) {
  if (depth == 0) {
    allocate();
    return x;
  }
  return busy(depth - 1, x * 3 + 1) + escape(depth);
}

void check_interrupted(int flags) {
  const Handling handling({SIGALRM}, &map_in_handler, flags);
  ComparedRun run;
  const itimerval often{.it_interval = {0, 500}, .it_value = {0, 500}};
  const itimerval never{};
  setitimer(ITIMER_REAL, &often, nullptr);
  interruptions = 0;
  int rounds = 0;
  for (; interruptions < 300; ++rounds) busy(rounds % 31, rounds);
  setitimer(ITIMER_REAL, &never, nullptr);
  // On a slow machine handlers leave no time for anything else.
  for (; rounds < 600; ++rounds) busy(rounds % 31, rounds);
  run.check_whole(600);
}

}  // namespace

TEST_CASE("a handler allocates on the stack that was interrupted") {
  check_raised_signals(&allocate_in_handler, 0);
}

TEST_CASE("a handler allocates on a stack of its own") {
  check_raised_signals(&allocate_in_handler, SA_ONSTACK);
}

TEST_CASE("a handler is interrupted by another") { check_raised_signals(&raise_in_handler, 0); }

TEST_CASE("a handler on a stack of its own is interrupted by another") {
  check_raised_signals(&raise_in_handler, SA_ONSTACK);
}

TEST_CASE("a handler interrupts a program that allocates all the time") { check_interrupted(0); }

TEST_CASE("a handler on a stack of its own interrupts a program that allocates all the time") {
  check_interrupted(SA_ONSTACK);
}
