/// Tells the processor that a loop waits for another thread.
#pragma once

namespace alloctap::arch {

inline void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

}  // namespace alloctap::arch
