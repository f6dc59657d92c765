// Allocates where a process begins and ends, and in its children.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>
#include <thread>

namespace {

__attribute__((noinline)) void allocate(int depth) {
  if (depth > 0) {
    allocate(depth - 1);
  } else {
    void* block = std::malloc(40);
    __asm__ volatile("" : "+r"(block));
    std::free(block);
  }
  __asm__ volatile("" ::: "memory");
}

struct Allocating {
  Allocating() { allocate(2); }
  ~Allocating() { allocate(3); }
};

const Allocating at_begin_and_end;
thread_local Allocating of_thread;

void touch_of_thread() {
  Allocating* object = &of_thread;
  __asm__ volatile("" : "+r"(object));
}

__attribute__((constructor)) void construct() { allocate(4); }
__attribute__((destructor)) void destruct() { allocate(5); }

/// Returns what the child exits with.
template <class Child>
int run_child(pid_t (*make)(), Child&& child) {
  const pid_t pid = make();
  if (pid == 0) child();
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WEXITSTATUS(status);
}

__attribute__((noinline)) bool fork_from(int depth) {
  if (depth > 0) {
    const bool fine = fork_from(depth - 1);
    allocate(1);
    return fine;
  }
  allocate(2);
  const int status = run_child(&::fork, [] {
    allocate(1);
    allocate(6);
    std::exit(7);
  });
  allocate(2);
  return status == 7;
}

/// The child runs on its parent's stack, deeper than the parent was.
__attribute__((noinline)) bool vfork_from(int depth) {
  allocate(depth);
  const pid_t pid = ::vfork();
  if (pid == 0) {
    allocate(7);
    ::_exit(8);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  allocate(7);
  return WEXITSTATUS(status) == 8;
}

}  // namespace

int main() {
  std::atexit([] { allocate(3); });
  touch_of_thread();
  std::thread(&touch_of_thread).join();
  bool fine = true;
  for (int i = 0; i < 4; ++i) fine = fork_from(i * 3) && vfork_from(i) && fine;
  return fine ? 0 : 1;
}
