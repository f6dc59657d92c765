/// The processor's spin-wait hint.
#pragma once

#include "alloctap/macros.hpp"

namespace alloctap::arch {

inline void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  ALLOCTAP_SPIN_HINT();
#elif defined(__aarch64__)
  ALLOCTAP_ASM volatile("yield");
#endif
}

}  // namespace alloctap::arch
