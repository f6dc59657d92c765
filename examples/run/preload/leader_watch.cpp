// A robust mutex that the leader holds for as long as it lives: the kernel marks the mutex when the
// thread ends, whoever ends it (set_robust_list(2)).
#include "leader_watch.hpp"

#include <pthread.h>

#include <cerrno>

namespace alloctap::run {
namespace {

constinit pthread_mutex_t leader_lives = PTHREAD_MUTEX_INITIALIZER;
constinit bool has_left = false;

}  // namespace

void watch_leader() noexcept {
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

}  // namespace alloctap::run
