/// Computes the length of leaf functions without unwind tables, by decoding their code.
#pragma once

#if defined(__x86_64__)
#include "alloctap/arch/x86_64/instruction.hpp"
namespace alloctap::arch {
using x86_64::leaf_function_bytes;
}
#else
#include <cstddef>
#include <cstdint>
#include <span>

namespace alloctap::arch {
/// Returns 0 (unknown length), because only x86-64 needs the length so far.
inline std::size_t leaf_function_bytes(std::span<const std::byte>, std::uintptr_t) noexcept {
  return 0;
}
}  // namespace alloctap::arch
#endif
