/// Statistics counters with a single writer thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "alloctap/macros.hpp"

namespace alloctap::arch {

/// Adds to a counter that only this thread writes; others may read it at any time. In assembly,
/// because compilers emit a load and a store. A single x86-64 instruction, so a signal handler on
/// this thread may count too.
ALLOCTAP_ALWAYS_INLINE void add_to_own(std::atomic<std::uint64_t>& counter,
                                       std::uint64_t number) noexcept {
#if defined(__x86_64__)
  ALLOCTAP_ASM("addq %1, %0" : "+m"(counter) : "er"(number) : "cc");
#else
  counter.store(counter.load(std::memory_order_relaxed) + number, std::memory_order_relaxed);
#endif
}

}  // namespace alloctap::arch
