#pragma once

#include "alloctap/os/moved_code.hpp"

namespace alloctap::os {

/// Does nothing. Unwinders on Linux see return addresses, which are never in relocated code, and
/// addresses at which signals interrupted a thread.
inline bool describe_moved_code(std::span<const MovedInstruction>, std::span<std::byte>) noexcept {
  return true;
}

}  // namespace alloctap::os
