// usage: watches_locks WAY FILE
// Stands in front of functions of the C library that take its locks, and prints how often threads
// other than the main one have called them, and whether one has had memory from its allocator.
// The main thread allocates until there is FILE, at most for a minute. WAY: alone has no other
// thread, both has one that calls them all and allocates.
#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

#include "busy_threads.hpp"

namespace {

std::atomic<int> calls{0};

template <class Signature>
using Pointer = Signature*;

template <class Function, class... Arguments>
auto pass_on(Pointer<Function>& real, const char* name, Arguments... arguments) {
  if (::gettid() != ::getpid()) calls.fetch_add(1);
  if (real == nullptr) real = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
  return real(arguments...);
}

/// A thread that allocates gets a heap of its own from glibc, which never goes away.
bool only_main_thread_allocated() {
  char* text = nullptr;
  std::size_t length = 0;
  std::FILE* const stream = ::open_memstream(&text, &length);
  ::malloc_info(0, stream);
  std::fclose(stream);
  const bool one = std::strstr(text, "heap nr=\"0\"") != nullptr &&
                   std::strstr(text, "heap nr=\"1\"") == nullptr;
  std::free(text);
  return one;
}

void allocate_until_there_is(const char* file) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (::access(file, F_OK) != 0 && std::chrono::steady_clock::now() < end) {
    for (std::size_t size = 10; size < 1010; ++size) {
      std::free(programs::keep(std::malloc(size)));
    }
  }
}

void call_all() {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  ::pthread_mutex_lock(&mutex);
  Dl_info info;
  ::dladdr(reinterpret_cast<const void*>(&std::abort), &info);
  ::dl_iterate_phdr([](dl_phdr_info*, std::size_t, void*) { return 0; }, nullptr);
  std::fflush(stdout);
  std::free(programs::keep(std::malloc(5000)));
}

}  // namespace

extern "C" {

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  static constinit Pointer<int(pthread_mutex_t*)> real = nullptr;
  return pass_on(real, "pthread_mutex_lock", mutex);
}

int dl_iterate_phdr(int (*visit)(dl_phdr_info*, std::size_t, void*), void* context) {
  static constinit Pointer<int(int (*)(dl_phdr_info*, std::size_t, void*), void*)> real = nullptr;
  return pass_on(real, "dl_iterate_phdr", visit, context);
}

int dladdr(const void* address, Dl_info* info) noexcept {
  static constinit Pointer<int(const void*, Dl_info*)> real = nullptr;
  return pass_on(real, "dladdr", address, info);
}

int dladdr1(const void* address, Dl_info* info, void** extra, int flags) noexcept {
  static constinit Pointer<int(const void*, Dl_info*, void**, int)> real = nullptr;
  return pass_on(real, "dladdr1", address, info, extra, flags);
}

void* dlopen(const char* file, int mode) noexcept {
  static constinit Pointer<void*(const char*, int)> real = nullptr;
  return pass_on(real, "dlopen", file, mode);
}

int fflush(std::FILE* stream) {
  static constinit Pointer<int(std::FILE*)> real = nullptr;
  return pass_on(real, "fflush", stream);
}
}

int main(int, char** argv) {
  const std::string_view way = argv[1];
  std::thread other;
  if (way == "both") other = std::thread(&call_all);
  allocate_until_there_is(argv[2]);
  if (way == "both") other.join();
  std::printf("%d calls, %s\n", calls.load(),
              only_main_thread_allocated() ? "one heap" : "more heaps");
}
