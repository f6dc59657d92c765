/// The stack of the calling thread, as the system's own library walks it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "alloctap/macros.hpp"

#if defined(_WIN32)
#include "alloctap/os/windows/api.hpp"
#else
#include <execinfo.h>
#endif

namespace alloctap::testing {

/// Places in the functions that have called each other, the caller of this first.
template <std::size_t kMaxCount>
ALLOCTAP_NOINLINE std::size_t system_backtrace(std::array<void*, kMaxCount>& frames) {
#if defined(_WIN32)
  return ::RtlCaptureStackBackTrace(1, kMaxCount, frames.data(), nullptr);
#else
  std::array<void*, kMaxCount + 1> all{};
  const auto count = static_cast<std::size_t>(backtrace(all.data(), kMaxCount + 1));
  std::copy(all.begin() + 1, all.end(), frames.begin());
  return count - 1;
#endif
}

}  // namespace alloctap::testing
