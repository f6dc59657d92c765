/// Throws std::bad_alloc from code that may be compiled without exceptions.
#pragma once

#include <memory>

namespace alloctap::os {

/// Throws std::bad_alloc by the library function of libstdc++ and libc++. Ends the process if
/// nothing can catch it.
[[noreturn]] inline void throw_bad_alloc() { std::__throw_bad_alloc(); }

}  // namespace alloctap::os
