// The exec family and posix_spawn. If the settings are hidden from the program, only exec passes
// them on; where children are followed, these functions keep them from programs that they would
// harm.
#include "interposed_exec.hpp"

#include <alloca.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <alloctap/macros.hpp>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "program_environment.hpp"
#include "signal_functions.hpp"

namespace alloctap::run {
namespace {

using Vector = char* const*;
using ExecFile = int(const char*, Vector, Vector);
using ExecDescriptor = int(int, Vector, Vector);

constinit ExecFile* real_execve = nullptr;
constinit ExecFile* real_execvpe = nullptr;
constinit ExecDescriptor* real_fexecve = nullptr;
using Spawn = decltype(::posix_spawn);
constinit Spawn* real_posix_spawn = nullptr;
constinit Spawn* real_posix_spawnp = nullptr;

struct FoundPath {
  char text[PATH_MAX] = {};
};

/// Returns the path of what execvp finds for `name`, written to `found` if need be; nullptr if it
/// finds none.
const char* find_program(const char* name, FoundPath& found) noexcept {
  if (std::strchr(name, '/') != nullptr) return name;
  const char* const list = std::getenv("PATH");
  for (std::string_view rest = list == nullptr ? "/bin:/usr/bin" : list;;) {
    const std::string_view directory = rest.substr(0, rest.find(':'));
    std::snprintf(found.text, sizeof found.text, "%.*s%s%s", static_cast<int>(directory.size()),
                  directory.data(), directory.empty() ? "" : "/", name);
    if (::access(found.text, X_OK) == 0) return found.text;
    if (directory.size() == rest.size()) return nullptr;
    rest.remove_prefix(directory.size() + 1);
  }
}

/// Returns the path of the program that `name` means to execvp; nullptr if it is not known, or not
/// needed for what the program gets in the place of `environment`.
const char* path_of(const char* name, Vector environment, FoundPath& found) noexcept {
  return depends_on_program(environment) ? find_program(name, found) : nullptr;
}

/// Executes the file at `path`.
int exec_path(const char* path, Vector arguments, Vector environment) noexcept {
  const PassedEnvironment passed(path, environment);
  return next_function(real_execve, "execve")(path, arguments, passed.get());
}

/// Executes the file `name`, which is searched for in PATH.
int exec_name(const char* name, Vector arguments, Vector environment) noexcept {
  FoundPath found;
  const PassedEnvironment passed(path_of(name, environment, found), environment);
  return next_function(real_execvpe, "execvpe")(name, arguments, passed.get());
}

/// Calls `exec(arguments)` with `first` and those in `rest` up to a null pointer; `rest` is behind
/// it then. The array is on the stack, because a process of vfork(2) must not allocate.
template <class Exec>
int with_arguments(const char* first, std::va_list& rest, Exec exec) noexcept {
  std::va_list counted;
  va_copy(counted, rest);
  std::size_t count = 1;
  while (va_arg(counted, char*) != nullptr) ++count;
  va_end(counted);
  auto** const arguments = static_cast<char**>(alloca((count + 1) * sizeof(char*)));
  arguments[0] = const_cast<char*>(first);
  for (std::size_t i = 1; i <= count; ++i) arguments[i] = va_arg(rest, char*);
  return exec(arguments);
}

}  // namespace

void find_exec_functions() noexcept {
  next_function(real_execve, "execve");
  next_function(real_execvpe, "execvpe");
  next_function(real_fexecve, "fexecve");
  next_function(real_posix_spawn, "posix_spawn");
  next_function(real_posix_spawnp, "posix_spawnp");
}

}  // namespace alloctap::run

using namespace alloctap::run;

extern "C" {

ALLOCTAP_EXPORT int execve(const char* path, Vector arguments, Vector environment) noexcept {
  return exec_path(path, arguments, environment);
}

ALLOCTAP_EXPORT int execv(const char* path, Vector arguments) noexcept {
  return exec_path(path, arguments, environ);
}

ALLOCTAP_EXPORT int execvpe(const char* name, Vector arguments, Vector environment) noexcept {
  return exec_name(name, arguments, environment);
}

ALLOCTAP_EXPORT int execvp(const char* name, Vector arguments) noexcept {
  return exec_name(name, arguments, environ);
}

ALLOCTAP_EXPORT int fexecve(int descriptor, Vector arguments, Vector environment) noexcept {
  FoundPath path;
  std::snprintf(path.text, sizeof path.text, "/proc/self/fd/%d", descriptor);
  const PassedEnvironment passed(path.text, environment);
  return next_function(real_fexecve, "fexecve")(descriptor, arguments, passed.get());
}

/// The C library has this function from 2.34 on only, so the system call is made here.
ALLOCTAP_EXPORT int execveat(int directory, const char* path, Vector arguments, Vector environment,
                             int flags) noexcept {
  const bool is_path = directory == AT_FDCWD || path[0] == '/';
  FoundPath found;
  std::snprintf(found.text, sizeof found.text, "/proc/self/fd/%d%s%s", directory,
                path[0] == '\0' ? "" : "/", path);
  const PassedEnvironment passed(is_path ? path : found.text, environment);
  return static_cast<int>(::syscall(SYS_execveat, directory, path, arguments, passed.get(), flags));
}

ALLOCTAP_EXPORT int execl(const char* path, const char* first, ...) noexcept {
  std::va_list rest;
  va_start(rest, first);
  const int error = with_arguments(
      first, rest, [=](Vector arguments) { return exec_path(path, arguments, environ); });
  va_end(rest);
  return error;
}

ALLOCTAP_EXPORT int execlp(const char* name, const char* first, ...) noexcept {
  std::va_list rest;
  va_start(rest, first);
  const int error = with_arguments(
      first, rest, [=](Vector arguments) { return exec_name(name, arguments, environ); });
  va_end(rest);
  return error;
}

ALLOCTAP_EXPORT int execle(const char* path, const char* first, ...) noexcept {
  std::va_list rest;
  va_start(rest, first);
  const int error = with_arguments(first, rest, [path, &rest](Vector arguments) {
    return exec_path(path, arguments, va_arg(rest, Vector));
  });
  va_end(rest);
  return error;
}

ALLOCTAP_EXPORT int posix_spawn(pid_t* child, const char* path,
                                const posix_spawn_file_actions_t* actions,
                                const posix_spawnattr_t* attributes, Vector arguments,
                                Vector environment) {
  const PassedEnvironment passed(path, environment, Heir::kChild);
  return next_function(real_posix_spawn, "posix_spawn")(child, path, actions, attributes, arguments,
                                                        passed.get());
}

ALLOCTAP_EXPORT int posix_spawnp(pid_t* child, const char* name,
                                 const posix_spawn_file_actions_t* actions,
                                 const posix_spawnattr_t* attributes, Vector arguments,
                                 Vector environment) {
  FoundPath found;
  const PassedEnvironment passed(path_of(name, environment, found), environment, Heir::kChild);
  return next_function(real_posix_spawnp, "posix_spawnp")(child, name, actions, attributes,
                                                          arguments, passed.get());
}
}
