/// The id of a captured call stack.
#pragma once

#include <cstdint>

namespace alloctap {

/// Identifies a stack in a tracker's stack table. 0 means no stack.
using StackId = std::uint32_t;
inline constexpr StackId kNoStackId = 0;

}  // namespace alloctap
