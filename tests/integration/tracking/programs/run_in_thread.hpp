/// Threads of both kinds.
#pragma once

#include <pthread.h>
#include <threads.h>

#include <cstdlib>

namespace programs {

/// Returns the thread's result.
inline void* run_in_thread(void* (*routine)(void*)) {
  pthread_t thread;
  void* result = nullptr;
  if (::pthread_create(&thread, nullptr, routine, nullptr) != 0) std::abort();
  ::pthread_join(thread, &result);
  return result;
}

inline int run_in_c11_thread(thrd_start_t routine) {
  thrd_t thread;
  int result = 0;
  if (::thrd_create(&thread, routine, nullptr) != thrd_success) std::abort();
  ::thrd_join(thread, &result);
  return result;
}

}  // namespace programs
