#pragma once

#include "alloctap/os/fork.hpp"

namespace alloctap::os {

/// Windows has no fork: there is nothing to be told of.
inline bool register_fork_handlers(void (*)(), void (*)(), void (*)()) noexcept { return true; }

}  // namespace alloctap::os
