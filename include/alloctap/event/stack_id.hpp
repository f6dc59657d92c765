/// How a stack is called.
#pragma once

#include <cstdint>

namespace alloctap {

/// Identifies a captured stack in a tracker's stack table. 0 means none.
using StackId = std::uint32_t;
inline constexpr StackId kNoStackId = 0;

}  // namespace alloctap
