#pragma once

#include <cstddef>
#include <cstdint>

namespace alloctap::testing {

/// Whether POINTER lies at a multiple of ALIGNMENT bytes.
inline bool is_aligned(const void* pointer, std::size_t alignment) noexcept {
  return reinterpret_cast<std::uintptr_t>(pointer) % alignment == 0;
}

}  // namespace alloctap::testing
