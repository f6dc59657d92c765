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

/// Calls `go_on` once, when all has been done for the first time.
template <class GoOn>
[[noreturn]] void keep_allocating(GoOn&& go_on) {
  for (std::size_t round = 0;; ++round) {
    const std::size_t size = round % 4096 + 1;
    void* first = keep(std::malloc(size));
    void* second = keep(std::realloc(first, 2 * size));
    std::free(second);
    if (round == 4096) go_on();
  }
}

[[noreturn]] inline void allocate_for_ever() {
  keep_allocating([] {});
}

inline void start_busy_threads(int count) {
  for (int i = 0; i < count; ++i) std::thread(allocate_for_ever).detach();
}

}  // namespace programs
