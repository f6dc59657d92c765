/// Instructions without a C++ operation: pause, and addition to a counter of one writer.
#pragma once

#include <atomic>
#include <cstdint>

#include "alloctap/macros.hpp"

namespace alloctap::arch {

/// Executes the processor's spin-wait hint.
inline void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  ALLOCTAP_SPIN_HINT();
#elif defined(__aarch64__)
  ALLOCTAP_ASM volatile("yield");
#endif
}

/// Adds `number` to a counter that only this thread writes. Other threads may read the counter at
/// any time. On x86-64 this is one instruction, so a signal handler on this thread may count, too.
/// Assembly is needed, because compilers emit a load and a store.
ALLOCTAP_ALWAYS_INLINE void add_to_own(std::atomic<std::uint64_t>& counter,
                                       std::uint64_t number) noexcept {
#if defined(__x86_64__)
  ALLOCTAP_ASM("addq %1, %0" : "+m"(counter) : "er"(number) : "cc");
#else
  counter.store(counter.load(std::memory_order_relaxed) + number, std::memory_order_relaxed);
#endif
}

}  // namespace alloctap::arch
