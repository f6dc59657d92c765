/// How long a function is that no table tells the length of, as far as its code shows.
#pragma once

#if defined(__x86_64__)
#include "alloctap/arch/x86_64/leaf_function.hpp"
namespace alloctap::arch {
using x86_64::leaf_function_bytes;
}
#else
#include <cstddef>
#include <cstdint>
#include <span>

namespace alloctap::arch {
/// Nobody asks for it on other processors yet: 0, as where it cannot be told.
inline std::size_t leaf_function_bytes(std::span<const std::byte>, std::uintptr_t) noexcept {
  return 0;
}
}  // namespace alloctap::arch
#endif
