/// Throwing from code that may be compiled without exceptions.
#pragma once

#include <memory>

namespace alloctap::os {

/// Throws std::bad_alloc through the C++ library, which ends the process if nothing can catch it.
/// libstdc++ and libc++ have the function that does it.
[[noreturn]] inline void throw_bad_alloc() { std::__throw_bad_alloc(); }

}  // namespace alloctap::os
