/// Runs a part of a test where it cannot harm the others.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

namespace alloctap::testing {

/// Ends the child of `holds_in_child` as if its body had returned true, from a signal handler too.
[[noreturn]] inline void end_as_held() { _exit(0); }

/// Whether `body` returned true in a child of fork. False too where the child crashed, or took more
/// than half a minute.
template <class Body>
[[nodiscard]] bool holds_in_child(Body&& body) {
  // ThreadSanitizer writes at _exit what the child's copy of standard output holds.
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    _exit(body() ? 0 : 1);
  }
  int status = -1;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

}  // namespace alloctap::testing
