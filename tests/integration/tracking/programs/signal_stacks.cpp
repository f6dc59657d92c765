// usage: signal_stacks CASE: threads of both kinds, with signal stacks of their own and without.
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

#include "run_in_thread.hpp"

namespace {

using programs::run_in_c11_thread;
using programs::run_in_thread;

constexpr std::size_t kStackBytes = 256 * 1024;

/// Zeroed and otherwise untouched, one for each thread that asks.
char* new_stack() {
  static std::array<std::array<char, kStackBytes>, 4> stacks;
  static std::size_t used = 0;
  return stacks.at(used++).data();
}

void tell(const char* when, const stack_t& stack, const char* own) {
  std::printf("%s: flags %d, %zu bytes, %s\n", when, stack.ss_flags, stack.ss_size,
              stack.ss_sp == nullptr ? "null"
              : stack.ss_sp == own   ? "own"
                                     : "?");
}

void tell_present(const char* when, const char* own) {
  stack_t present{};
  std::printf("%d ", ::sigaltstack(nullptr, &present));
  tell(when, present, own);
}

void set_and_take_away() {
  char* const own = new_stack();
  tell_present("at first", own);
  stack_t before{};
  const stack_t stack{.ss_sp = own, .ss_flags = 0, .ss_size = kStackBytes};
  std::printf("%d ", ::sigaltstack(&stack, &before));
  tell("before it is set", before, own);
  tell_present("set", own);
  const stack_t none{.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
  std::printf("%d ", ::sigaltstack(&none, &before));
  tell("before it is taken away", before, own);
  tell_present("taken away", own);
  const stack_t small{.ss_sp = own, .ss_flags = 0, .ss_size = 16};
  const int refused = ::sigaltstack(&small, nullptr);
  std::printf("too small: %d %d\n", refused, refused == 0 ? 0 : errno);
  tell_present("still", own);
}

void show_stacks() {
  set_and_take_away();
  run_in_thread([](void*) -> void* {
    set_and_take_away();
    return nullptr;
  });
  run_in_c11_thread([](void*) {
    set_and_take_away();
    return 0;
  });
}

__attribute__((noinline)) int recurse(int depth) {
  volatile char frame[4096];
  frame[0] = static_cast<char>(depth);
  return (depth >= 0 ? recurse(depth + 1) : 0) + frame[0];
}

thread_local char* handler_stack = nullptr;
thread_local sigjmp_buf before_overflow;

void leave_overflow(int) {
  const char here = 0;
  const auto offset =
      reinterpret_cast<std::uintptr_t>(&here) - reinterpret_cast<std::uintptr_t>(handler_stack);
  siglongjmp(before_overflow, offset < kStackBytes ? 1 : 2);
}

int overflow_once() {
  const int left = sigsetjmp(before_overflow, 1);
  return left == 0 ? recurse(0) : left;
}

/// Twice: the handler leaves the stack as it found it.
int survive_overflow() {
  handler_stack = new_stack();
  const stack_t stack{.ss_sp = handler_stack, .ss_flags = 0, .ss_size = kStackBytes};
  ::sigaltstack(&stack, nullptr);
  const int first = overflow_once();
  return 10 * first + overflow_once();
}

void survive_overflows() {
  struct sigaction action{};
  action.sa_handler = leave_overflow;
  action.sa_flags = SA_ONSTACK;
  ::sigaction(SIGSEGV, &action, nullptr);
  std::printf("main: %d\n", survive_overflow());
  run_in_thread([](void*) -> void* {
    std::printf("pthread: %d\n", survive_overflow());
    return nullptr;
  });
  std::printf("C11 thread: %d\n", run_in_c11_thread([](void*) { return survive_overflow(); }));
}

/// As the kernel knows it: the C library's own function may be told to say something else.
void* present_stack() {
  stack_t present{};
  ::syscall(SYS_sigaltstack, nullptr, &present);
  return present.ss_sp;
}

/// Whether no two of 50 threads that live at the same time, and the calling one, share a stack.
bool all_have_their_own() {
  constexpr std::size_t kThreads = 50;
  std::vector<void*> stacks(kThreads + 1, present_stack());
  std::vector<std::thread> threads;
  pthread_barrier_t barrier;
  ::pthread_barrier_init(&barrier, nullptr, kThreads);
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      stacks[i] = present_stack();
      ::pthread_barrier_wait(&barrier);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::sort(stacks.begin(), stacks.end());
  return std::adjacent_find(stacks.begin(), stacks.end()) == stacks.end();
}

bool all_have_their_own_in_child() {
  const pid_t child = ::fork();
  if (child == 0) std::_Exit(all_have_their_own() && all_have_their_own() ? 0 : 1);
  int status = -1;
  ::waitpid(child, &status, 0);
  return status == 0;
}

/// Tracked, and with children followed.
void tell_whether_shared() {
  std::printf("main: %d\n", all_have_their_own() && all_have_their_own());
  std::printf("child of main: %d\n", all_have_their_own_in_child());
  std::thread([] {
    std::printf("thread: %d\n", all_have_their_own());
    std::printf("child of thread: %d\n", all_have_their_own_in_child());
  }).join();
}

struct Case {
  std::string_view name;
  void (*run)();
};

constexpr Case kCases[] = {
    {"shows", show_stacks}, {"survives", survive_overflows}, {"tells", tell_whether_shared}};

}  // namespace

int main(int argc, char** argv) {
  for (const Case& one : kCases) {
    if (argc > 1 && one.name == argv[1]) one.run();
  }
  std::puts("done");
}
