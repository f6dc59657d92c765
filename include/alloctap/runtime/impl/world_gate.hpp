/// The bodies of runtime/world_gate.hpp.
#pragma once

#include <atomic>
#include <cstdint>

#include "alloctap/arch/pause.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/clock.hpp"
#include "alloctap/os/futex.hpp"
#include "alloctap/runtime/world_gate.hpp"

namespace alloctap {

ALLOCTAP_INLINE bool WorldGate::wait_for(const Flag& recording, std::int64_t patience_ns) noexcept {
  if (recording.load(std::memory_order_seq_cst) == 0) return true;
  const std::int64_t give_up = os::monotonic_ns() + patience_ns;
  for (int round = 0; recording.load(std::memory_order_seq_cst) != 0; ++round) {
    arch::pause();
    if (round % 1024 != 1023) continue;
    if (os::monotonic_ns() > give_up) return false;
    os::futex_wait(word_, word_.load(std::memory_order_relaxed), kBackoffNs);
  }
  return true;
}

ALLOCTAP_NOINLINE ALLOCTAP_INLINE void WorldGate::enter_with_care(Flag& recording) noexcept {
  for (;;) {
    recording.store(1, std::memory_order_seq_cst);
    if ((word_.load(std::memory_order_seq_cst) & (kClosed | kHalted)) == 0) return;
    recording.store(0, std::memory_order_release);
    wait_while(kClosed | kHalted);
  }
}

ALLOCTAP_NOINLINE ALLOCTAP_INLINE void WorldGate::wait_while(std::uint32_t bits) noexcept {
  for (auto word = word_.load(std::memory_order_acquire); (word & bits) != 0;
       word = word_.load(std::memory_order_acquire)) {
    if (word_.compare_exchange_strong(word, word | kAwaited, std::memory_order_relaxed)) {
      os::futex_wait(word_, word | kAwaited);
    }
  }
}

}  // namespace alloctap
