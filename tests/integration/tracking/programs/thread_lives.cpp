// usage: thread_lives CASE: threads of both kinds begin and end in all the ways there are.
#include <pthread.h>
#include <threads.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "busy_threads.hpp"
#include "run_in_thread.hpp"

namespace {

using programs::keep;
using programs::run_in_c11_thread;
using programs::run_in_thread;

struct TellsItsEnd {
  ~TellsItsEnd() { std::puts("unwound"); }
};

void* wait_for_cancellation(void*) {
  const TellsItsEnd tells;
  for (;;) ::pause();
}

void* leave_by_exit(void* result) {
  const TellsItsEnd tells;
  ::pthread_exit(result);
}

/// Results, names, attributes and exceptions are those of any thread.
void end_in_all_ways() {
  pthread_t thread;
  void* result = nullptr;
  char name[16] = "";
  pthread_attr_t attributes;
  std::size_t bytes = 0;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, 1 << 20);
  std::printf("%d\n", ::pthread_create(&thread, &attributes, wait_for_cancellation, nullptr));
  ::pthread_getattr_np(thread, &attributes);
  ::pthread_attr_getstacksize(&attributes, &bytes);
  ::pthread_getname_np(thread, name, sizeof name);
  ::pthread_cancel(thread);
  ::pthread_join(thread, &result);
  std::printf("%zu %s %d\n", bytes, name, result == PTHREAD_CANCELED);
  ::pthread_create(&thread, nullptr, leave_by_exit, name);
  ::pthread_join(thread, &result);
  std::printf("%d\n", result == name);
  std::printf("%d\n", run_in_c11_thread([](void*) { return -7; }));
  std::printf("%d\n", run_in_c11_thread([](void*) -> int { ::thrd_exit(8); }));
  std::printf("%d\n", run_in_thread([](void*) -> void* {
                        try {
                          throw 1;
                        } catch (int) {
                          return stdout;
                        }
                      }) == stdout);
}

void throw_out_of_thread() {
  run_in_thread([](void*) -> void* { throw 1; });
}

void* allocate_nothing(void*) { return nullptr; }

/// A thousand of each kind, one after another, that allocate nothing.
void start_many() {
  for (int i = 0; i < 1000; ++i) {
    run_in_thread(allocate_nothing);
    run_in_c11_thread([](void*) { return 0; });
  }
}

/// Ten thousand that end in turn by return, pthread_exit and cancellation.
void come_and_go() {
  for (int i = 0; i < 10000; ++i) {
    pthread_t thread;
    void* (*routine)(void*) = allocate_nothing;
    if (i % 3 == 1) routine = [](void* result) -> void* { ::pthread_exit(result); };
    if (i % 3 == 2) routine = [](void*) -> void* { return keep(nullptr), ::pause(), nullptr; };
    if (::pthread_create(&thread, nullptr, routine, nullptr) != 0) std::abort();
    if (i % 3 == 2) ::pthread_cancel(thread);
    ::pthread_join(thread, nullptr);
  }
}

/// A stack of this size is nowhere to be had.
void fail_to_start() {
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, std::size_t{1} << 50);
  int refused = 0;
  for (int i = 0; i < 10000; ++i) {
    pthread_t thread;
    if (::pthread_create(&thread, &attributes, allocate_nothing, nullptr) == EAGAIN) ++refused;
  }
  std::printf("%d refused\n", refused);
}

__attribute__((noinline)) int allocate_in_c11_thread(void*) {
  keep(std::malloc(4321));
  return 0;
}

__attribute__((noinline)) void* allocate_in_thread(void*) { return keep(std::malloc(4321)); }

void allocate_in_threads() {
  run_in_thread(allocate_in_thread);
  run_in_c11_thread(allocate_in_c11_thread);
}

struct Case {
  std::string_view name;
  void (*run)();
};

constexpr Case kCases[] = {{"ends", end_in_all_ways}, {"throws", throw_out_of_thread},
                           {"many", start_many},      {"come-and-go", come_and_go},
                           {"fails", fail_to_start},  {"allocates", allocate_in_threads}};

}  // namespace

int main(int argc, char** argv) {
  for (const Case& one : kCases) {
    if (argc > 1 && one.name == argv[1]) one.run();
  }
  std::puts("done");
}
