// Runs a program and writes what it cost to a file. A process's peak of resident memory begins at
// what the one had that started it, so this one is small and the harness, in Python, is not.
//
// usage: measure_run FILE PROGRAM [ARGUMENT]...
// Writes a JSON object: cpu (user and system time) and wall in seconds, resident in KiB. Exits as
// the program does, or with 128 and the signal that ended it.
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

extern char** environ;

namespace {

double seconds_now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

int fail(const char* what, int error) {
  std::fprintf(stderr, "measure_run: %s: %s\n", what, std::strerror(error));
  return 127;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) return fail("give a file and a program", EINVAL);
  const double start = seconds_now();
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, arguments[2], nullptr, nullptr, arguments + 2, environ);
  if (error != 0) return fail(arguments[2], error);
  int status = 0;
  rusage usage{};
  if (::wait4(child, &status, 0, &usage) != child) return fail("wait4", errno);
  const double wall = seconds_now() - start;
  std::FILE* file = std::fopen(arguments[1], "w");
  if (file == nullptr) return fail(arguments[1], errno);
  std::fprintf(file, "{\"cpu\": %.6f, \"wall\": %.6f, \"resident\": %ld}\n",
               seconds(usage.ru_utime) + seconds(usage.ru_stime), wall, usage.ru_maxrss);
  if (std::fclose(file) != 0) return fail(arguments[1], errno);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
