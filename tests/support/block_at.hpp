/// Addresses of blocks that tests make up.
#pragma once

#include <cstdint>

namespace alloctap::testing {

[[nodiscard]] inline void* at(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

}  // namespace alloctap::testing
