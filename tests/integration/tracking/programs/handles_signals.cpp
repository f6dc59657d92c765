// usage: handles_signals WAY: says "ready", and what happens when SIGTERM comes.
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "busy_threads.hpp"

namespace {

volatile sig_atomic_t received = 0;

/// Unbuffered: a handler may exit, and would find the line in the buffer once more.
void ready() {
  std::fflush(stdout);
  static_cast<void>(!::write(1, "ready\n", 6));
}

void note(int signal) { received = signal; }

void note_info(int signal, siginfo_t* info, void* context) {
  received = signal == info->si_signo && context != nullptr ? signal : -1;
}

void set(int flags, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = flags;
  ::sigaction(SIGTERM, &action, nullptr);
}

void wait_for_handler() {
  ready();
  while (received == 0) programs::keep(std::malloc(8));
  std::printf("received %d\n", static_cast<int>(received));
}

void show(const char* when) {
  struct sigaction action{};
  ::sigaction(SIGTERM, nullptr, &action);
  const bool is_default = action.sa_handler == SIG_DFL;
  const bool ignored = action.sa_handler == SIG_IGN;
  std::printf("SIGTERM: %s, flags %x%s\n",
              is_default                  ? "default"
              : ignored                   ? "ignored"
              : action.sa_handler == note ? "note"
                                          : "?",
              static_cast<unsigned>(action.sa_flags), when);
}

void with_handler() {
  set(0, note);
  wait_for_handler();
}

void with_info() {
  struct sigaction action{};
  action.sa_sigaction = note_info;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGTERM, &action, nullptr);
  wait_for_handler();
}

void with_one_shot() {
  set(static_cast<int>(SA_RESETHAND), note);
  show(" (one shot)");
  wait_for_handler();
  show(" (after the shot)");
}

void with_one_shot_twice() {
  with_one_shot();
  ::raise(SIGTERM);
}

/// Restarted, read goes on; else it fails.
void with_restart() {
  int ends[2];
  char byte = 0;
  if (::pipe(ends) != 0) return;
  set(SA_RESTART, [](int) {
    const itimerval soon{{0, 0}, {0, 50'000}};
    ::setitimer(ITIMER_REAL, &soon, nullptr);
  });
  static int write_end;
  write_end = ends[1];
  ::signal(SIGALRM, [](int) { static_cast<void>(!::write(write_end, "x", 1)); });
  ready();
  std::printf("read %zd %c\n", ::read(ends[0], &byte, 1), byte);
}

void exit_from_handler() {
  set(0, [](int) { std::exit(9); });
  ready();
  ::pause();
}

void ignore() {
  ::signal(SIGTERM, SIG_IGN);
  ready();
  ::usleep(100000);
  std::puts("still here");
}

void go_back_to_default() {
  ::signal(SIGTERM, note);
  std::printf("%d\n", ::signal(SIGTERM, SIG_DFL) == note);
  std::printf("%d\n", ::signal(SIGTERM, SIG_DFL) == SIG_DFL);
  ready();
  ::pause();
}

sigset_t block() {
  sigset_t only;
  ::sigemptyset(&only);
  ::sigaddset(&only, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &only, nullptr);
  return only;
}

void take_blocked() {
  const sigset_t only = block();
  ready();
  int taken = 0;
  ::sigwait(&only, &taken);
  std::printf("took %d\n", taken);
}

void read_descriptor() {
  const sigset_t only = block();
  const int file = ::signalfd(-1, &only, 0);
  ready();
  signalfd_siginfo info{};
  const ssize_t length = ::read(file, &info, sizeof info);
  std::printf("read %zd: %u\n", length, info.ssi_signo);
}

void show_all() {
  show("");
  ::signal(SIGTERM, note);
  show(" (signal)");
  std::printf("before: %d\n", ::sysv_signal(SIGTERM, note) == note);
  show(" (sysv_signal)");
  std::printf("before: %d\n", ::ssignal(SIGTERM, SIG_IGN) == note);
  show(" (ssignal)");
  struct sigaction action{};
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  struct sigaction before{};
  ::sigaction(SIGTERM, &action, &before);
  std::printf("before: %d\n", before.sa_handler == SIG_IGN);
  show(" (sigaction)");
  ready();
  ::pause();
}

struct Way {
  std::string_view name;
  void (*go)();
};

constexpr Way kWays[] = {{"handler", with_handler},   {"siginfo", with_info},
                         {"one-shot", with_one_shot}, {"one-shot-twice", with_one_shot_twice},
                         {"restart", with_restart},   {"handler-exits", exit_from_handler},
                         {"ignores", ignore},         {"back-to-default", go_back_to_default},
                         {"waits", take_blocked},     {"descriptor", read_descriptor},
                         {"shows", show_all}};

}  // namespace

int main(int, char** argv) {
  for (const Way& way : kWays) {
    if (way.name == argv[1]) way.go();
  }
}
