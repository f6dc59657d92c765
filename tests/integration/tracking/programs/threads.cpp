// usage: threads CASE: threads of unusual kinds allocate.
#include <pthread.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "busy_threads.hpp"

namespace {

using programs::keep;

/// 1000 blocks; the other half is freed by the other thread.
__attribute__((noinline)) void work_in_two_threads() {
  std::vector<void*> blocks(1000);
  std::thread other([&blocks] {
    for (std::size_t i = 0; i < 500; ++i) blocks[i] = keep(std::malloc(i + 1));
  });
  for (std::size_t i = 500; i < 1000; ++i) blocks[i] = keep(std::malloc(i + 1));
  other.join();
  for (std::size_t i = 1; i < 1000; i += 2) std::free(blocks[i]);
  std::thread([&blocks] {
    for (std::size_t i = 0; i < 1000; i += 4) std::free(blocks[i]);
  }).join();
}

void* allocate_on_small_stack(void*) {
  for (int i = 0; i < 100; ++i) keep(std::malloc(10));
  return nullptr;
}

void use_smallest_stack() {
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes,
                              static_cast<std::size_t>(::sysconf(_SC_THREAD_STACK_MIN)));
  pthread_t thread;
  if (::pthread_create(&thread, &attributes, allocate_on_small_stack, nullptr) == 0) {
    ::pthread_join(thread, nullptr);
  }
}

std::atomic<bool> cancelled{false};

/// malloc is no point where a thread may be cancelled.
void* allocate_although_cancelled(void* reached) {
  while (!cancelled) {
  }
  for (int i = 0; i < 100; ++i) keep(std::malloc(10));
  *static_cast<bool*>(reached) = true;
  ::pthread_testcancel();
  return nullptr;
}

void cancel() {
  bool reached = false;
  pthread_t thread;
  if (::pthread_create(&thread, nullptr, allocate_although_cancelled, &reached) != 0) return;
  ::pthread_cancel(thread);
  cancelled = true;
  void* result = nullptr;
  ::pthread_join(thread, &result);
  std::printf("%d %d\n", reached, result == PTHREAD_CANCELED);
}

/// Destructors of thread-specific data and of thread_local objects free what they hold.
void allocate_for_the_end() {
  static pthread_key_t key;
  ::pthread_key_create(&key, [](void* block) {
    std::free(block);
    keep(std::malloc(77));
  });
  std::thread([] {
    thread_local std::string text(1000, 'x');
    keep(text.data());
    ::pthread_setspecific(key, std::malloc(78));
  }).join();
}

void come_and_go() {
  for (int i = 0; i < 2000; ++i) {
    std::thread([] { keep(std::malloc(10)); }).join();
  }
}

ucontext_t program_context;
ucontext_t other_context;

__attribute__((noinline)) void allocate_elsewhere() {
  for (int i = 0; i < 100; ++i) keep(std::malloc(10));
}

/// A stack that no thread library knows.
void switch_stacks() {
  static char stack[64 * 1024];
  ::getcontext(&other_context);
  other_context.uc_stack.ss_sp = stack;
  other_context.uc_stack.ss_size = sizeof stack;
  other_context.uc_link = &program_context;
  ::makecontext(&other_context, allocate_elsewhere, 0);
  ::swapcontext(&program_context, &other_context);
}

struct Case {
  std::string_view name;
  void (*run)();
};

constexpr Case kCases[] = {{"two", work_in_two_threads}, {"smallest-stack", use_smallest_stack},
                           {"cancel", cancel},           {"thread-end", allocate_for_the_end},
                           {"come-and-go", come_and_go}, {"own-stack", switch_stacks}};

}  // namespace

int main(int argc, char** argv) {
  for (const Case& one : kCases) {
    if (argc > 1 && one.name == argv[1]) one.run();
  }
  std::puts("done");
}
