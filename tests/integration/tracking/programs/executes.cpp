// usage: executes WAY [fork [PROGRAM]]: has /usr/bin/env, or PROGRAM, which is in PATH, print the
// environment that WAY gives it, started from a child with `fork`; WAY is a function of the exec
// family, or one that makes a child itself.
#include <elf.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace {

const char* path = "/usr/bin/env";
const char* name = "env";
char* const kArguments[] = {const_cast<char*>("env"), nullptr};

void wait_for(pid_t child) { ::waitpid(child, nullptr, 0); }

void print_by_popen() {
  std::FILE* const pipe = ::popen(path, "r");
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) std::putchar(c);
  ::pclose(pipe);
}

template <class Spawn>
void print_by_spawn(Spawn spawn, const char* program) {
  pid_t child = 0;
  if (spawn(&child, program, nullptr, nullptr, kArguments, environ) == 0) wait_for(child);
}

void print_by_vfork() {
  const pid_t child = ::vfork();
  if (child == 0) {
    ::execv(path, kArguments);
    ::_exit(1);
  }
  wait_for(child);
}

/// As programs do that have no getauxval(3): what the kernel tells stands behind the environment.
void print_page_size() {
  char** end = environ;
  while (*end != nullptr) ++end;
  const auto* entry = reinterpret_cast<const Elf64_auxv_t*>(end + 1);
  while (entry->a_type != AT_NULL && entry->a_type != AT_PAGESZ) ++entry;
  std::printf("%lu\n", static_cast<unsigned long>(entry->a_un.a_val));
}

struct Way {
  std::string_view name;
  void (*go)();
};

constexpr Way kWays[] = {
    {"execve", [] { ::execve(path, kArguments, environ); }},
    {"execv", [] { ::execv(path, kArguments); }},
    {"execvpe", [] { ::execvpe(name, kArguments, environ); }},
    {"execvp", [] { ::execvp(name, kArguments); }},
    {"execl", [] { ::execl(path, "env", "--", "A=a", "B=b", nullptr); }},
    {"execlp", [] { ::execlp(name, "env", nullptr); }},
    {"execle", [] { ::execle(path, "env", "A=a", nullptr, environ); }},
    {"fexecve", [] { ::fexecve(::open(path, O_RDONLY | O_CLOEXEC), kArguments, environ); }},
    {"execveat", [] { ::execveat(AT_FDCWD, path, kArguments, environ, 0); }},
    {"no-environment", [] { ::execve(path, kArguments, nullptr); }},
    {"system-call", [] { ::syscall(SYS_execve, path, kArguments, environ); }},
    {"spawn", [] { print_by_spawn(&::posix_spawn, path); }},
    {"spawnp", [] { print_by_spawn(&::posix_spawnp, name); }},
    {"vfork", print_by_vfork},
    {"system", [] { static_cast<void>(!std::system(path)); }},
    {"popen", print_by_popen},
    {"auxiliary", print_page_size},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc > 3) {
    path = argv[3];
    name = std::strrchr(path, '/') + 1;
  }
  const pid_t child = argc > 2 ? ::fork() : 0;
  if (child != 0) {
    wait_for(child);
    return 0;
  }
  for (const Way& way : kWays) {
    if (way.name == argv[1]) way.go();
  }
}
