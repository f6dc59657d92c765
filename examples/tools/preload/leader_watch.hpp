/// Whether the thread that the process is named by has left.
#pragma once

namespace alloctap::run {

/// Watches the leader of its thread group, which is the calling thread at the first call of each
/// process. Control plane.
void watch_leader() noexcept;

/// Returns true once the leader has left, in any way: by return, pthread_exit, cancellation or
/// exit(2). Makes no system call. For the thread that writes reports.
[[nodiscard]] bool leader_has_left() noexcept;

/// Returns what the leader ended with, once it has left; 0 where the kernel does not say.
[[nodiscard]] int exit_code_of_leader() noexcept;

}  // namespace alloctap::run
