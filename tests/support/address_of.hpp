#pragma once

#include <cstdint>

namespace alloctap::testing {

/// Where PLACE lies, as a number.
inline std::uintptr_t address_of(const void* place) noexcept {
  return reinterpret_cast<std::uintptr_t>(place);
}

}  // namespace alloctap::testing
