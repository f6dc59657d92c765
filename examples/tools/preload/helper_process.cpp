#include "helper_process.hpp"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <alloctap/os/linux/raw_system_call.hpp>
#include <alloctap/os/thread_local.hpp>
#include <cerrno>

namespace alloctap::run {
namespace {

/// What the new processes need: they share our memory until the helper is there.
struct Start {
  const char* path = nullptr;
  int socket = -1;
};

constexpr std::size_t kStackBytes = 16 * 1024;

/// Whether the program takes no notice of the ends of its processes.
bool ends_go_unnoticed() noexcept {
  struct sigaction action{};
  return ::sigaction(SIGCHLD, nullptr, &action) == 0 && action.sa_handler == SIG_DFL;
}

/// Starts a process that runs `run` and shares our memory; this thread waits until it has ended or
/// become another program. Its end sends no signal. qemu-user refuses that: there it is a child as
/// any other, if the program does not notice.
pid_t start_process(int (*run)(void*), char* stack, Start* start) noexcept {
  char* const top = stack + kStackBytes;
  const pid_t process = ::clone(run, top, CLONE_VM | CLONE_VFORK, start);
  if (process >= 0 || errno != EINVAL || !ends_go_unnoticed()) return process;
  return ::clone(run, top, SIGCHLD, start);
}

/// Past the C library's function, which stands for the end of the program
/// (interposed_confinement.cpp).
void leave(int status) noexcept { os::raw_system_call(SYS_exit_group, status, 0, 0, 0, 0, 0); }

/// Only system calls: the C library's state is the program's.
int become_helper(void* argument) {
  const auto& start = *static_cast<const Start*>(argument);
  ::syscall(SYS_dup3, start.socket, STDIN_FILENO, 0);
  ::syscall(SYS_dup3, start.socket, STDOUT_FILENO, 0);
#if defined(SYS_close_range)
  ::syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0);
#endif
  const char* const arguments[] = {start.path, nullptr};
  const char* const environment[] = {nullptr};
  ::syscall(SYS_execve, start.path, arguments, environment);
  leave(127);
  return 127;
}

/// The end of a process that became another program sends its parent a signal after all (clone(2)).
/// So the helper's parent is one that ends at once, and the program never hears of either.
int start_helper(void* argument) {
  alignas(16) static char stack[kStackBytes];
  const pid_t helper = start_process(&become_helper, stack, static_cast<Start*>(argument));
  leave(helper < 0 ? 1 : 0);
  return 1;
}

/// What the system says of the filters that system calls go through: their kind and their number.
struct Confinement {
  char text[64] = {};
  bool operator==(const Confinement&) const = default;
};

constinit Confinement confinement_at_start;

Confinement read_confinement() noexcept {
  constexpr std::string_view kField = "\nSeccomp:\t";
  Confinement confinement;
  char text[4096];
  int error = 0;
  const os::File status = os::open_for_reading("/proc/thread-self/status", error);
  const std::ptrdiff_t length = error == 0 ? os::read_some(status.descriptor(), text) : 0;
  const std::string_view all(text, length > 0 ? static_cast<std::size_t>(length) : 0);
  const std::size_t field = all.find(kField);
  if (field == all.npos) return confinement;
  // Behind it comes the number, where the system tells it.
  const std::string_view fields = all.substr(field, all.find("\nSpec", field) - field);
  fields.copy(confinement.text, sizeof confinement.text);
  return confinement;
}

/// With no signals: a handler of the program must not run in another process.
bool start_without_signals(Start& start) noexcept {
  alignas(16) static char stack[kStackBytes];
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t parent = start_process(&start_helper, stack, &start);
  int status = -1;
  // Where the program ignores the ends of its processes, nothing is told of this one either.
  const bool told = parent > 0 && ::syscall(SYS_wait4, parent, &status, __WALL, nullptr) == parent;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return parent > 0 && (!told || status == 0);
}

}  // namespace

void HelperProcess::note_start_of_program() noexcept { confinement_at_start = read_confinement(); }

bool HelperProcess::start(const char* path) noexcept {
  const os::ErrnoGuard preserve_error;
  int sockets[2];
  if (read_confinement() != confinement_at_start || ::access(path, X_OK) != 0 ||
      ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
    return false;
  }
  socket_ = os::File(sockets[0]);
  const os::File theirs(sockets[1]);
  constexpr timeval kTimeoutNs{.tv_sec = 300, .tv_usec = 0};
  ::setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &kTimeoutNs, sizeof kTimeoutNs);
  ::setsockopt(sockets[0], SOL_SOCKET, SO_SNDTIMEO, &kTimeoutNs, sizeof kTimeoutNs);
  Start start{.path = path, .socket = sockets[1]};
  return start_without_signals(start);
}

bool HelperProcess::send(std::string_view bytes) noexcept {
  const os::ErrnoGuard preserve_error;
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_.descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

void HelperProcess::end_of_sending() noexcept {
  const os::ErrnoGuard preserve_error;
  ::shutdown(socket_.descriptor(), SHUT_WR);
}

std::ptrdiff_t HelperProcess::receive(char* buffer, std::size_t size) noexcept {
  const os::ErrnoGuard preserve_error;
  for (;;) {
    const ssize_t count = ::recv(socket_.descriptor(), buffer, size, 0);
    if (count >= 0 || errno != EINTR) return count;
  }
}

}  // namespace alloctap::run
