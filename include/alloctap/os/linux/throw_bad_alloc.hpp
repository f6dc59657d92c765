// The libraries' own way; both libstdc++ and libc++ have it.
#pragma once

#include <memory>

#include "alloctap/os/throw_bad_alloc.hpp"

namespace alloctap::os {

inline void throw_bad_alloc() { std::__throw_bad_alloc(); }

}  // namespace alloctap::os
