/// Flag that limits the system calls made inside malloc.
#pragma once

#include <atomic>

namespace alloctap::os {

/// Whether threads may make no system calls except those that malloc makes, because a seccomp(2)
/// filter could kill the program for another. Code inside malloc then does without facts that only
/// the kernel has, such as the bounds of a new stack. Set once, never cleared.
inline constinit std::atomic<bool> threads_are_confined{false};

}  // namespace alloctap::os
