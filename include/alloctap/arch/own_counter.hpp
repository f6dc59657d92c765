/// Numbers that one thread counts and others read.
#pragma once

#include <atomic>
#include <cstdint>

#include "alloctap/macros.hpp"

namespace alloctap::arch {

/// Adds to a counter that nobody else writes. Others may read it at any time. A compiler keeps the
/// read and the write of an atomic variable apart; where the processor adds in memory, this is one
/// instruction, so that a signal handler of the same thread may count as well.
ALLOCTAP_ALWAYS_INLINE void add_to_own(std::atomic<std::uint64_t>& counter,
                                       std::uint64_t number) noexcept {
#if defined(__x86_64__)
  ALLOCTAP_ASM("addq %1, %0" : "+m"(counter) : "er"(number) : "cc");
#else
  counter.store(counter.load(std::memory_order_relaxed) + number, std::memory_order_relaxed);
#endif
}

}  // namespace alloctap::arch
