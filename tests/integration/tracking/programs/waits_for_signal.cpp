// usage: waits_for_signal STATE [busy]: allocates, prints "ready" and stays in a state until a
// signal ends it; busy: while three threads allocate. It must never get as far as "woke up".
#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "busy_threads.hpp"

namespace {

[[noreturn]] void compute() {
  for (;;) asm volatile("" : : : "memory");
}

void read_pipe() {
  int ends[2];
  char byte;
  if (::pipe(ends) == 0) static_cast<void>(!::read(ends[0], &byte, 1));
}

void sleep_long() {
  const timespec minute{60, 0};
  ::nanosleep(&minute, nullptr);
}

void poll_nothing() { ::poll(nullptr, 0, 60000); }
void wait_for_thread() { std::thread(compute).join(); }

/// The signal goes to another thread.
void block_in_main() {
  sigset_t all;
  ::sigfillset(&all);
  std::thread other(compute);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  other.join();
}

struct State {
  std::string_view name;
  void (*enter)();
};

constexpr State kStates[] = {
    {"compute", compute},      {"read", read_pipe},
    {"sleep", sleep_long},     {"pause", [] { ::pause(); }},
    {"poll", poll_nothing},    {"allocate", [] { programs::allocate_for_ever(); }},
    {"join", wait_for_thread}, {"blocked-in-main", block_in_main},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2) programs::start_busy_threads(3);
  for (int i = 0; i < 1000; ++i) programs::keep(std::malloc(24));
  static_cast<void>(!::write(1, "ready\n", 6));
  for (const State& state : kStates) {
    if (state.name == argv[1]) state.enter();
  }
  std::puts("woke up");
}
