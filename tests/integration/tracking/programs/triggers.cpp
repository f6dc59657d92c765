// usage: triggers WAY FILE...
// Does for each FILE what should make a report appear there, and waits for it. WAY: grow allocates
// one MiB, gives it back and allocates three, raise sends itself SIGUSR1, wait does nothing, handle
// sends itself SIGUSR1 as raise does, but has a handler. Exit code: 0, or the number of what went
// wrong.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <string_view>

#include "busy_threads.hpp"

namespace {

constexpr std::size_t kMegabyte = 1 << 20;

volatile sig_atomic_t handled = 0;

bool appears(const char* file) {
  for (int tenths = 0; tenths < 3000; ++tenths) {
    if (::access(file, F_OK) == 0) return true;
    ::usleep(10'000);
  }
  return false;
}

void grow() {
  // Before the growth: what a report finds live beside it would count for the next one.
  std::free(programs::keep(std::malloc(kMegabyte)));
  programs::keep(std::malloc(3 * kMegabyte));
}

/// Its own child is not tracked, and has the default action.
bool signal_ends_child() {
  const pid_t child = ::fork();
  if (child == 0) {
    ::raise(SIGUSR1);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1;
}

int raise_for(int files, char** file) {
  struct sigaction action{};
  ::sigaction(SIGUSR1, nullptr, &action);
  if (action.sa_handler != SIG_DFL || action.sa_flags != 0) return 2;
  if (!signal_ends_child()) return 3;
  for (int i = 0; i < files; ++i) {
    ::raise(SIGUSR1);
    if (!appears(file[i])) return 4;
  }
  return 0;
}

int handle() {
  ::signal(SIGUSR1, [](int) { handled = handled + 1; });
  for (int i = 0; i < 3; ++i) ::raise(SIGUSR1);
  ::usleep(100'000);
  return handled == 3 ? 0 : 5;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view way = argv[1];
  if (way == "raise") return raise_for(argc - 2, argv + 2);
  if (way == "handle") return handle();
  for (int i = 2; i < argc; ++i) {
    if (way == "grow") grow();
    if (!appears(argv[i])) return 1;
  }
}
