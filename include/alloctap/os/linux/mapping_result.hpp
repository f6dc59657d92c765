#pragma once

#include <linux/mman.h>
#include <sys/mman.h>

#include "alloctap/os/mapping_result.hpp"

namespace alloctap::os {

inline bool mapping_failed(const void* result) noexcept { return result == MAP_FAILED; }

inline bool remap_keeps_old(std::size_t old_length, int flags) noexcept {
  return old_length == 0 || (flags & MREMAP_DONTUNMAP) != 0;
}

}  // namespace alloctap::os
