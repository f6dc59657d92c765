/// What a program forbids its own threads.
#pragma once

#include <atomic>

namespace alloctap::os {

/// Whether the program's threads may make no system calls but those that malloc makes: a filter
/// (seccomp(2)) could end the program for another. Then what only the system knows, such as the
/// bounds of a stack that is new, stays unknown to code inside malloc. Set once, for good.
inline constinit std::atomic<bool> threads_are_confined{false};

}  // namespace alloctap::os
