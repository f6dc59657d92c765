// usage: forks WAY [COUNT]: makes child processes in the way that is named.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "busy_threads.hpp"

extern char** environ;

namespace {

using programs::keep;

int count = 0;

/// 0 where the child ended well; a child that hangs is ended by its alarm.
int wait_for(pid_t child) {
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}

/// Blocks that reports can be searched for: 37 bytes each.
__attribute__((noinline)) void allocate_in_child() {
  for (int i = 0; i < 10; ++i) keep(std::malloc(37));
}

[[noreturn]] void live_as_child() {
  ::alarm(20);
  allocate_in_child();
  std::thread(allocate_in_child).join();
  std::exit(0);
}

/// Leaves the processor to the others when they want it, so that the children come soon.
void allocate_beside_forks(std::atomic<int>& busy) {
  static_cast<void>(!::nice(10));
  programs::keep_allocating([&busy] { ++busy; });
}

/// While two other threads allocate. They have to have come: a thread that comes at a fork may hold
/// a lock of an emulator's, which the child then waits for.
void fork_often() {
  static std::atomic<int> busy{0};
  for (int i = 0; i < 2; ++i) std::thread([] { allocate_beside_forks(busy); }).detach();
  while (busy < 2) ::usleep(1000);
  int failures = 0;
  for (int i = 0; i < count; ++i) {
    const pid_t child = ::fork();
    if (child == 0) live_as_child();
    if (wait_for(child) != 0) ++failures;
  }
  std::printf("%d children, %d failures\n", count, failures);
}

/// Children of several threads at once, which end while others are made.
void fork_from_threads() {
  const auto fork_some = [] {
    for (int i = 0; i < count; ++i) {
      const pid_t child = ::fork();
      if (child == 0) live_as_child();
      if (wait_for(child) != 0) std::_Exit(1);
    }
  };
  std::thread first(fork_some);
  std::thread second(fork_some);
  first.join();
  second.join();
}

/// In the child the thread that forked is the only one, and returns.
void fork_and_return() {
  std::thread([] {
    const pid_t child = ::fork();
    if (child == 0) return allocate_in_child();
    std::printf("%d\n", wait_for(child));
  }).join();
}

/// Each child is ended a few microseconds later than the one before.
void end_early() {
  int failures = 0;
  for (int i = 0; i < count; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);
      programs::allocate_for_ever();
    }
    ::usleep(static_cast<useconds_t>(i * 10));
    ::kill(child, SIGTERM);
    if (wait_for(child) != SIGTERM) ++failures;
  }
  std::printf("%d children, %d failures\n", count, failures);
}

void fork_grandchild() {
  const pid_t child = ::fork();
  if (child == 0) {
    allocate_in_child();
    const pid_t grandchild = ::fork();
    if (grandchild == 0) live_as_child();
    std::exit(wait_for(grandchild) == 0 ? 0 : 1);
  }
  std::printf("%d\n", wait_for(child));
}

/// No two of them live at the same time.
void fork_one_by_one() {
  for (int i = 0; i < count; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      allocate_in_child();
      ::_exit(0);
    }
    if (wait_for(child) != 0) std::_Exit(1);
  }
}

const char* const kEcho[] = {"/bin/echo", "echoed", nullptr};

void exec_echo() {
  std::fflush(stdout);
  ::execv(kEcho[0], const_cast<char**>(kEcho));
}

void vfork_and_exec() {
  const pid_t child = ::vfork();
  if (child == 0) {
    ::execv(kEcho[0], const_cast<char**>(kEcho));
    ::_exit(1);
  }
  std::printf("%d\n", wait_for(child));
}

void vfork_and_leave() {
  const pid_t child = ::vfork();
  if (child == 0) ::_exit(5);
  std::printf("%d\n", wait_for(child));
}

void spawn() {
  pid_t child = 0;
  const int error =
      ::posix_spawn(&child, kEcho[0], nullptr, nullptr, const_cast<char**>(kEcho), environ);
  std::printf("%d %d\n", error, wait_for(child));
}

void run_system() { std::printf("%d\n", std::system("echo from the shell; exit 3")); }

void read_popen() {
  char line[64] = "";
  std::FILE* pipe = ::popen("echo through the pipe", "r");
  static_cast<void>(!std::fgets(line, sizeof line, pipe));
  std::printf("%s%d\n", line, ::pclose(pipe));
}

void exec_missing() {
  const char* const missing[] = {"/does/not/exist", nullptr};
  ::execv(missing[0], const_cast<char**>(missing));
  std::puts("still here");
}

/// Leaves a child that has closed its standard streams, and ends when the pipe "gate" has a byte.
void become_daemon() {
  if (::fork() != 0) std::_Exit(0);
  ::setsid();
  ::alarm(20);
  const int gate = ::open("gate", O_RDONLY);
  const int null = ::open("/dev/null", O_RDWR);
  for (int i = 0; i <= 2; ++i) ::dup2(null, i);
  allocate_in_child();
  char byte = 0;
  static_cast<void>(!::read(gate, &byte, 1));
}

void child_dies(int signal) {
  const pid_t child = ::fork();
  if (child == 0) {
    allocate_in_child();
    ::raise(signal);
  }
  std::printf("%d\n", wait_for(child));
}

struct Way {
  std::string_view name;
  void (*go)();
};

constexpr Way kWays[] = {
    {"often", fork_often},
    {"from-threads", fork_from_threads},
    {"grandchild", fork_grandchild},
    {"from-thread-that-returns", fork_and_return},
    {"one-by-one", fork_one_by_one},
    {"end-early", end_early},
    {"vfork-exec", vfork_and_exec},
    {"vfork-_exit", vfork_and_leave},
    {"spawn", spawn},
    {"system", run_system},
    {"popen", read_popen},
    {"exec", exec_echo},
    {"exec-missing", exec_missing},
    {"daemon", become_daemon},
    {"child-SIGTERM", [] { child_dies(SIGTERM); }},
    {"child-SIGSEGV", [] { child_dies(SIGSEGV); }},
    {"child-SIGKILL", [] { child_dies(SIGKILL); }},
};

}  // namespace

int main(int argc, char** argv) {
  count = argc > 2 ? std::atoi(argv[2]) : 1;
  for (int i = 0; i < 100; ++i) keep(std::malloc(41));
  for (const Way& way : kWays) {
    if (way.name == argv[1]) way.go();
  }
}
