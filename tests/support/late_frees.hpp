/// What a thread frees when it is nearly gone.
#pragma once

#include <pthread.h>

#include <cstdlib>
#include <thread>

namespace alloctap::testing {

/// Frees a block while its thread's last destructors run.
struct FreesLate {
  void* block = nullptr;
  ~FreesLate() { std::free(block); }
};

inline thread_local FreesLate frees_late;

/// A key of pthread_setspecific whose destructor frees what it is set to.
inline pthread_key_t freeing_key() {
  static const pthread_key_t key = [] {
    pthread_key_t made{};
    if (pthread_key_create(&made, [](void* block) { std::free(block); }) != 0) std::abort();
    return made;
  }();
  return key;
}

/// Starts threads one after the other, each of which allocates 11 bytes and 13 that are freed in
/// the two ways in which a thread's end can. `allocate` hides malloc from the compiler.
template <class Allocate>
void run_threads_that_free_late(int threads, Allocate allocate) {
  const pthread_key_t key = freeing_key();
  for (int i = 0; i < threads; ++i) {
    std::thread([&] {
      frees_late.block = allocate(11);
      pthread_setspecific(key, allocate(13));
    }).join();
  }
}

}  // namespace alloctap::testing
