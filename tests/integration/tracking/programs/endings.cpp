// usage: endings ENDING [busy]: allocates 1000 blocks, prints, and ends in the way that is named;
// busy: while three threads allocate.
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <threads.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <vector>

#include "busy_threads.hpp"
#include "faults.hpp"

namespace {

using programs::keep;

__attribute__((noinline)) void allocate_blocks() {
  for (int i = 0; i < 1000; ++i) keep(std::malloc(24));
}

int* volatile nowhere = nullptr;

__attribute__((noinline)) int recurse(int depth) {
  volatile char frame[4096];
  frame[0] = static_cast<char>(depth);
  return (depth >= 0 ? recurse(depth + 1) : 0) + frame[0];
}

void free_twice() {
  void* const volatile block = std::malloc(100);
  void (*const volatile release)(void*) = &std::free;
  release(block);
  release(block);
}

void in_thread(void (*end)()) { std::thread(end).join(); }

/// The thread has never allocated.
void overflow_in_pthread() {
  pthread_t thread;
  const auto routine = [](void*) -> void* { return reinterpret_cast<void*>(recurse(0) + 0L); };
  if (::pthread_create(&thread, nullptr, routine, nullptr) == 0) ::pthread_join(thread, nullptr);
}

void overflow_in_c11_thread() {
  thrd_t thread;
  const auto routine = [](void*) { return recurse(0); };
  if (::thrd_create(&thread, routine, nullptr) == thrd_success) ::thrd_join(thread, nullptr);
}

void overflow_past_own_signal_stack() {
  static char memory[64 * 1024];
  const stack_t own{.ss_sp = memory, .ss_flags = 0, .ss_size = sizeof memory};
  const stack_t none{.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
  ::sigaltstack(&own, nullptr);
  ::sigaltstack(&none, nullptr);
  recurse(0);
}

void exit_in_handler(int) { std::exit(21); }
void leave_in_handler(int) { ::_exit(22); }

/// With the signal coming while this thread is most probably inside malloc. The blocks are so small
/// that the tracker takes no lock for one, wherever it lies, once it knows their stacks: a program
/// that ends while it holds such a lock leaves no report.
[[noreturn]] void end_in_handler(void (*handler)(int)) {
  ::signal(SIGALRM, handler);
  for (std::size_t round = 0;; ++round) {
    void* block = keep(std::malloc(20));
    std::free(keep(std::realloc(block, 40)));
    if (round != 4096) continue;
    const itimerval soon{{0, 0}, {0, 20000}};
    ::setitimer(ITIMER_REAL, &soon, nullptr);
  }
}

void exit_from_many() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back([] { std::exit(7); });
  for (std::thread& thread : threads) thread.join();
}

void allocate_late() {
  ::usleep(100000);
  keep(std::malloc(24));
}

/// The process ends with its last thread, which runs `last`.
template <class Last>
[[noreturn]] void leave_main_thread(Last last) {
  std::thread(last).detach();
  ::pthread_exit(nullptr);
}

void leave_by_c11() {
  std::thread(allocate_late).detach();
  ::thrd_exit(0);
}

void leave_by_cancellation() {
  std::thread([first = ::pthread_self()] {
    ::pthread_cancel(first);
    allocate_late();
  }).detach();
  for (;;) ::pause();
}

/// Past the C library, which goes on to count the thread.
void leave_by_system_call() {
  std::thread(allocate_late).detach();
  ::syscall(SYS_exit, 23);
}

void end_last_by_system_call() {
  leave_main_thread([] {
    allocate_late();
    ::syscall(SYS_exit, 0);
  });
}

void end_last_by_signal() {
  leave_main_thread([] {
    allocate_late();
    ::kill(::getpid(), SIGTERM);
    for (;;) ::pause();
  });
}

void abort_past_handler() {
  ::signal(SIGABRT, [](int) { static_cast<void>(!::write(1, "handler\n", 8)); });
  std::abort();
}

void abort_although_ignored() {
  ::signal(SIGABRT, SIG_IGN);
  std::abort();
}

void crash_past_one_shot_handler() {
  struct sigaction action{};
  action.sa_handler = [](int) { static_cast<void>(!::write(1, "handler\n", 8)); };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  ::sigaction(SIGSEGV, &action, nullptr);
  *nowhere = 1;
}

void die_by(int signal) {
  ::kill(::getpid(), signal);
  ::pause();
}

struct Ending {
  std::string_view name;
  void (*end)();
};

constexpr Ending kEndings[] = {
    {"return", [] {}},
    {"exit", [] { std::exit(3); }},
    {"_exit", [] { ::_exit(4); }},
    {"_Exit", [] { std::_Exit(5); }},
    {"quick_exit", [] { std::quick_exit(6); }},
    {"abort", [] { std::abort(); }},
    {"abort-past-handler", abort_past_handler},
    {"abort-although-ignored", abort_although_ignored},
    {"uncaught-exception", [] { throw std::runtime_error("nobody catches this"); }},
    {"null-pointer", [] { *nowhere = 1; }},
    {"null-pointer-past-one-shot-handler", crash_past_one_shot_handler},
    {"wild-pointer", [] { *reinterpret_cast<volatile int*>(0x8000000000000000) = 1; }},
    {"stack-overflow", [] { recurse(0); }},
    {"division-by-zero", divide_by_zero},
    {"illegal-instruction", run_no_instruction},
    {"breakpoint", hit_breakpoint},
    {"double-free", free_twice},
    {"raise-SIGTERM", [] { ::raise(SIGTERM); }},
    {"kill-SIGSEGV", [] { die_by(SIGSEGV); }},
    {"kill-SIGHUP", [] { die_by(SIGHUP); }},
    {"kill-SIGUSR1", [] { die_by(SIGUSR1); }},
    {"kill-SIGKILL", [] { die_by(SIGKILL); }},
    {"thread-exit", [] { in_thread([] { std::exit(8); }); }},
    {"thread-_exit", [] { in_thread([] { ::_exit(9); }); }},
    {"thread-null-pointer", [] { in_thread([] { *nowhere = 1; }); }},
    {"thread-abort", [] { in_thread([] { std::abort(); }); }},
    {"thread-stack-overflow", [] { in_thread([] { recurse(0); }); }},
    {"pthread-stack-overflow", overflow_in_pthread},
    {"C11-thread-stack-overflow", overflow_in_c11_thread},
    {"thread-stack-overflow-past-own-signal-stack",
     [] { in_thread(overflow_past_own_signal_stack); }},
    {"many-exit", exit_from_many},
    {"last-thread-ends", [] { leave_main_thread(allocate_late); }},
    {"main-leaves-by-thrd_exit", leave_by_c11},
    {"main-leaves-by-cancellation", leave_by_cancellation},
    {"main-leaves-by-system-call", leave_by_system_call},
    {"last-leaves-by-system-call", end_last_by_system_call},
    {"last-is-ended-by-signal", end_last_by_signal},
    {"exit-in-handler", [] { end_in_handler(exit_in_handler); }},
    {"_exit-in-handler", [] { end_in_handler(leave_in_handler); }},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2) programs::start_busy_threads(3);
  allocate_blocks();
  std::atexit([] { std::puts("atexit"); });
  std::at_quick_exit([] { static_cast<void>(!::write(1, "at_quick_exit\n", 14)); });
  std::puts("begin");
  std::fflush(stdout);
  std::puts("buffered");
  for (const Ending& ending : kEndings) {
    if (ending.name == argv[1]) ending.end();
  }
  return 2;
}
