/// Threads that allocate and free all the time.
#pragma once

#include <cstdlib>
#include <thread>

namespace programs {

/// Keeps the compiler from leaving an allocation out.
inline void* keep(void* block) {
  asm volatile("" : : "r"(block) : "memory");
  return block;
}

[[noreturn]] inline void allocate_for_ever() {
  for (std::size_t size = 1;; size = size % 4096 + 1) {
    void* first = keep(std::malloc(size));
    void* second = keep(std::realloc(first, 2 * size));
    std::free(second);
  }
}

inline void start_busy_threads(int count) {
  for (int i = 0; i < count; ++i) std::thread(allocate_for_ever).detach();
}

}  // namespace programs
