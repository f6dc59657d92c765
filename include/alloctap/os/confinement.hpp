/// A flag that limits system calls inside malloc.
#pragma once

#include <atomic>

namespace alloctap::os {

/// True if the tracker may make no system calls inside malloc except those that malloc itself
/// makes. A seccomp(2) filter might otherwise kill the program. The tracker then lacks data that
/// only the kernel has, such as the bounds of a new stack. Set once, never cleared.
inline constinit std::atomic<bool> threads_are_confined{false};

}  // namespace alloctap::os
