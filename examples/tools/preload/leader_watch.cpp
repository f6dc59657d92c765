// A robust mutex that the leader holds for as long as it lives: the kernel marks the mutex when the
// thread ends, whoever ends it (set_robust_list(2)).
#include "leader_watch.hpp"

#include <pthread.h>
#include <sys/wait.h>

#include <alloctap/os/file.hpp>
#include <alloctap/os/thread.hpp>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <string_view>

namespace alloctap::run {
namespace {

constinit pthread_mutex_t leader_lives = PTHREAD_MUTEX_INITIALIZER;
constinit bool has_left = false;
constinit os::ProcessId watched_process = 0;

}  // namespace

void watch_leader() noexcept {
  const os::ProcessId process = os::current_process_id();
  if (process == watched_process) return;
  watched_process = process;
  has_left = false;
  pthread_mutexattr_t attributes;
  ::pthread_mutexattr_init(&attributes);
  ::pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  // Fails where the system has no robust lists, as qemu-user: then the mutex is a plain one.
  ::pthread_mutex_init(&leader_lives, &attributes);
  ::pthread_mutexattr_destroy(&attributes);
  ::pthread_mutex_lock(&leader_lives);
}

bool leader_has_left() noexcept {
  if (!has_left) has_left = ::pthread_mutex_trylock(&leader_lives) == EOWNERDEAD;
  return has_left;
}

int exit_code_of_leader() noexcept {
  char text[1024];
  int error = 0;
  const os::File file = os::open_for_reading("/proc/self/stat", error);
  const std::ptrdiff_t count = error == 0 ? os::read_some(file.descriptor(), text) : 0;
  if (count <= 0) return 0;
  // The last field, as wait(2) has it.
  const std::string_view fields(text, static_cast<std::size_t>(count));
  int status = 0;
  std::from_chars(text + fields.rfind(' ') + 1, text + count, status);
  return WEXITSTATUS(status);
}

}  // namespace alloctap::run
