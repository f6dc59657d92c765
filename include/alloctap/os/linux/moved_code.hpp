#pragma once

#include "alloctap/os/moved_code.hpp"

namespace alloctap::os {

/// Unwinders of Linux look at return addresses, which are never in moved code, and at what signals
/// interrupt.
inline bool describe_moved_code(std::span<const MovedInstruction>, std::span<std::byte>) noexcept {
  return true;
}

}  // namespace alloctap::os
