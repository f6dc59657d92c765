// usage: spoils_report WAY: makes it hard or impossible to write a report, and exits with 42.
// The report is to be at reports/dump.json.
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <thread>

#include "busy_threads.hpp"

namespace {

using programs::keep;

void limit(__rlimit_resource_t resource, rlim_t value) {
  rlimit both{};
  ::getrlimit(resource, &both);
  both.rlim_cur = value;
  ::setrlimit(resource, &both);
}

void remove_directory() { std::filesystem::remove_all("reports"); }

/// A file cannot take the place of a directory.
void occupy_path() { std::filesystem::create_directory("reports/dump.json"); }

void limit_file_size() { limit(RLIMIT_FSIZE, 1000); }

void limit_file_size_quietly() {
  ::signal(SIGXFSZ, SIG_IGN);
  limit(RLIMIT_FSIZE, 1000);
}

void close_everything() { ::close_range(0, ~0U, 0); }
void close_standard_error() { ::close(2); }

/// Descriptor 2 is the program's own file then.
void reuse_standard_error() {
  ::close(2);
  if (::open("data", O_WRONLY | O_CREAT, 0600) == 2) static_cast<void>(!::write(2, "data\n", 5));
}

void use_up_descriptors() { limit(RLIMIT_NOFILE, 3); }
void change_directory() { std::filesystem::current_path("/"); }

void exec_without_environment() {
  char* const arguments[] = {const_cast<char*>("/bin/sh"), const_cast<char*>("-c"),
                             const_cast<char*>("exit 42"), nullptr};
  char* const nothing[] = {nullptr};
  ::execve(arguments[0], arguments, nothing);
}

rlim_t mapped_bytes() {
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * 4096;
}

/// The tracker gets no memory for all the stacks and blocks that follow; the program has its own.
/// The blocks take 18 MiB, more than a part of the index that there is may be for (16 MiB).
int allocate_in_depth(int depth, int path) {
  keep(std::malloc(16));
  if (depth == 0) return path;
  return (path & 1) != 0 ? allocate_in_depth(depth - 1, path / 2) + 1
                         : allocate_in_depth(depth - 1, path / 2) + 2;
}

void run_out_of_memory() {
  ::mallopt(M_TOP_PAD, 64 << 20);
  keep(std::malloc(100'000));
  keep(std::malloc(100'000));
  limit(RLIMIT_AS, mapped_bytes() + (2 << 20));
  int sum = 0;
  for (int path = 0; path < 40000; ++path) sum += allocate_in_depth(14, path);
  int failed = 0;
  for (int i = 0; i < 100; ++i) failed += keep(std::malloc(1024)) == nullptr ? 1 : 0;
  limit(RLIMIT_AS, RLIM_INFINITY);
  std::printf("%d %d\n", sum, failed);
}

struct Way {
  std::string_view name;
  void (*go)();
};

constexpr Way kWays[] = {
    {"remove-directory", remove_directory},  {"occupy-path", occupy_path},
    {"limit-file-size", limit_file_size},    {"limit-file-size-quietly", limit_file_size_quietly},
    {"close-everything", close_everything},  {"close-stderr", close_standard_error},
    {"reuse-stderr", reuse_standard_error},  {"use-up-descriptors", use_up_descriptors},
    {"change-directory", change_directory},  {"exec-without-environment", exec_without_environment},
    {"run-out-of-memory", run_out_of_memory}};

}  // namespace

int main(int, char** argv) {
  for (int i = 0; i < 1000; ++i) keep(std::malloc(24));
  for (const Way& way : kWays) {
    if (way.name == argv[1]) way.go();
  }
  return 42;
}
