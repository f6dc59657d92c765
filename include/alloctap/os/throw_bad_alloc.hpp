/// Throws std::bad_alloc from code that may be compiled without exceptions.
#pragma once

#include <memory>

namespace alloctap::os {

/// Throws std::bad_alloc by the function that libstdc++ and libc++ export for that. Ends the
/// process if the exception is not caught.
[[noreturn]] inline void throw_bad_alloc() { std::__throw_bad_alloc(); }

}  // namespace alloctap::os
