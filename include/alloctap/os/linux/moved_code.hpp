#pragma once

#include "alloctap/os/moved_code.hpp"

namespace alloctap::os {

/// Does nothing: unwinders on Linux read return addresses, which are never in moved code, and
/// addresses that signals interrupt.
inline bool describe_moved_code(std::span<const MovedInstruction>, std::span<std::byte>) noexcept {
  return true;
}

}  // namespace alloctap::os
