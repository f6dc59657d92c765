#pragma once

#include "alloctap/os/fork.hpp"

namespace alloctap::os {

/// Does nothing: Windows has no fork.
inline bool register_fork_handlers(void (*)(), void (*)(), void (*)()) noexcept { return true; }

}  // namespace alloctap::os
